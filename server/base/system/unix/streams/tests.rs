use std::{
    env,
    io::{Read, Write},
    process::{Command, Stdio},
};

use super::*;

const CHILD: &str = "ASIDE_TEST_CLAIM";
const NAME: &str = "system::unix::streams::tests::stray_output_never_reaches_the_protocol";

/// Runs this test once more as a process, which claims its own descriptors.
#[test]
fn stray_output_never_reaches_the_protocol() {
    if env::var_os(CHILD).is_some() {
        return claim_and_print();
    }
    let mut child = Command::new(env::current_exe().unwrap())
        .args([NAME, "--exact", "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"from the client")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert!(output.status.success(), "{stdout}{stderr}");
    // The test harness prints to standard output before the claim, and nothing after it.
    let protocol = stdout.split_once("<claimed>").unwrap().1;
    assert_eq!(
        protocol,
        "heard: from the client; empty: true; kept: false; child: "
    );
    assert!(stderr.contains("stray from a child"), "{stderr}");
    assert!(stderr.contains("stray from a library"), "{stderr}");
}

fn claim_and_print() {
    let mut stdin = claim_stdin().unwrap();
    let mut stdout = claim_stdout().unwrap();
    stdout.write_all(b"<claimed>").unwrap();
    io::stdout().write_all(b"stray from a library\n").unwrap();
    io::stdout().flush().unwrap();
    let mut heard = String::new();
    stdin.read_to_string(&mut heard).unwrap();
    let empty = io::stdin().read(&mut [0]).unwrap() == 0;
    let kept = [&stdin, &stdout].iter().any(|file| {
        let flags = rustix::io::fcntl_getfd(file).unwrap();
        !flags.contains(rustix::io::FdFlags::CLOEXEC)
    });
    write!(
        stdout,
        "heard: {heard}; empty: {empty}; kept: {kept}; child: "
    )
    .unwrap();
    let inherited = Command::new("sh")
        .args(["-c", "echo stray from a child; cat"])
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .status()
        .unwrap();
    assert!(inherited.success());
}

#[test]
fn claimed_pipes_are_blocking() {
    let (reader, _writer) = io::pipe().unwrap();
    fs::fcntl_setfl(&reader, OFlags::NONBLOCK).unwrap();
    let claimed = claim(rustix::fd::AsFd::as_fd(&reader)).unwrap();
    assert!(
        !fs::fcntl_getfl(&claimed)
            .unwrap()
            .contains(OFlags::NONBLOCK)
    );
}
