//! The hosts that a command is let to, and that it is let to nothing else.

use std::{fs, path::Path};

use super::ground::{SandboxGround, SandboxedCall, program, script, users};
use crate::world::start;

/// Makes a network with another machine, and names for it; serves HTTP there and here, and then runs a program. The
/// servers say whether they can reach the proxy from where they are.
const MACHINE: &str = r#"
import http.server, os, socket, subprocess, sys, threading
class Served(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            socket.create_connection(("127.0.0.1", 3128), 1).close()
            outside = "the proxy is open to the machine"
        except OSError as error:
            outside = error.strerror
        text = f"{self.path} of {self.headers['Host']}: {outside}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *_):
        pass
def serve():
    return http.server.ThreadingHTTPServer(("0.0.0.0", 8080), Served)
def ip(*words):
    subprocess.run(["ip", *words], check=True)
if sys.argv[1] == "other":
    # The first line: its network is there. On the first line of the input it has an address.
    print("there", flush=True)
    sys.stdin.readline()
    ip("link", "set", "lo", "up")
    ip("address", "add", "198.51.100.7/24", "dev", "inner")
    ip("link", "set", "inner", "up")
    server = serve()
    print("serves", flush=True)
    server.serve_forever()
hosts, *command = sys.argv[1:]
other = subprocess.Popen(["unshare", "-n", sys.executable, __file__, "other"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
assert other.stdout.readline() == "there\n"
ip("link", "set", "lo", "up")
ip("link", "add", "outer", "type", "veth", "peer", "name", "inner", "netns", str(other.pid))
ip("address", "add", "198.51.100.1/24", "dev", "outer")
ip("link", "set", "outer", "up")
print(file=other.stdin, flush=True)
assert other.stdout.readline() == "serves\n"
subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
threading.Thread(target=serve().serve_forever, daemon=True).start()
status = subprocess.run(command).returncode
other.kill()
sys.exit(status)
"#;

const HOSTS: &str = "127.0.0.1 localhost inner.test\n198.51.100.7 allowed.test deep.below.test other.test usual.test\n\
                     169.254.169.254 link.test\n198.51.100.1 own.test\n";

/// Gets each URL by what the environment says.
const GET: &str = r#"
import sys, urllib.error, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=20).read().decode().strip())
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode().strip())
    except OSError as error:
        print(error)
"#;

/// Goes through the proxy as TLS does, and around it. The server that is reached knows no TLS, and says so.
const TUNNEL: &str = r#"
import socket, ssl
def hello(name):
    first = ssl.MemoryBIO()
    context = ssl.create_default_context()
    try:
        context.wrap_bio(ssl.MemoryBIO(), first, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        return first.read() + b"\r\n\r\n"
def through(name, first):
    with socket.create_connection(("127.0.0.1", 3128), 20) as s:
        s.sendall(f"CONNECT {name} HTTP/1.1\r\n\r\n".encode())
        said = s.recv(4096).decode().splitlines()[0]
        if " 200 " in said:
            s.sendall(first)
            try:
                said += " reached" if s.makefile("rb").read() else " closed"
            except OSError:
                said += " closed"
        print(said)
through("allowed.test:8080", hello("allowed.test"))
through("allowed.test:8080", hello("other.test"))
through("allowed.test:8080", b"GET / HTTP/1.0\r\nHost: other.test\r\n\r\n")
for name in ["allowed.test:22", "other.test:8080", "198.51.100.7:8080", "usual.test:80"]:
    through(name, b"")
try:
    socket.create_connection(("198.51.100.7", 8080), 20)
except OSError as error:
    print(error.strerror)
print(open("/proc/self/net/tcp").read().count(" 0A "))
"#;

#[test]
fn a_command_reaches_the_hosts_that_the_user_names_and_no_other() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        let world = &ground.world;
        let names = [
            "allowed.test",
            "*.below.test",
            "inner.test",
            "link.test",
            "own.test",
            "gone.test",
        ];
        let names = names.map(|name| format!("'{name}:8080', ")).concat() + "'usual.test'";
        world.user_config(&format!("[sandbox]\nhosts = [{names}]\n"));
        world.write("get.py", GET);
        world.write("tunnel.py", TUNNEL);
        let outside = |name: &str, text: &str| {
            fs::write(ground.outside(name), text).unwrap();
            ground.outside(name).display().to_string()
        };
        let (machine, hosts) = (outside("machine.py", MACHINE), outside("hosts", HOSTS));
        let urls = [
            "allowed",
            "deep.below",
            "other",
            "below",
            "inner",
            "link",
            "own",
        ];
        let urls = urls
            .map(|name| format!("http://{name}.test:8080/a?b"))
            .join(" ");
        let call = |id, command| SandboxedCall {
            id,
            command,
            cwd: ".",
        };
        let model = world.script(&script(&[
            call("get", format!("python3 get.py {urls}")),
            call("gone", "python3 get.py http://gone.test:8080/".to_owned()),
            call("tunnel", "python3 tunnel.py".to_owned()),
            call("input", "cat; echo ended; exit 3".to_owned()),
            call("missing", "exec no-such-program".to_owned()),
        ]));
        ground.hand_over();
        let aside = program().to_str().unwrap();
        let args = [
            "-Urnm", "python3", &machine, &hosts, aside, "run", "-m", &model, "Go",
        ];
        let more = ["--trust", "--non-interactive", "--mode", "auto"];
        let args = [&args[..], &more[..]].concat();
        start(&mut ground.command(Path::new("unshare"), &args))
            .end()
            .exits(0);
        let log = world.log();
        let none = "is none of the hosts that the user lets commands reach without TLS";
        let nowhere = "leads to this machine, to its link or nowhere, where no command is let";
        let expected = [
            "Exit status 0.",
            "[The sandbox lets nothing reach other.test:8080.]",
            "[The sandbox lets nothing reach below.test:8080.]",
            "[The sandbox lets nothing reach inner.test:8080.]",
            "[The sandbox lets nothing reach link.test:8080.]",
            "[The sandbox lets nothing reach own.test:8080.]",
            "/a?b of allowed.test:8080: Connection refused",
            "/a?b of deep.below.test:8080: Connection refused",
            &format!("403 other.test:8080 {none}"),
            &format!("403 below.test:8080 {none}"),
            &format!("403 inner.test:8080 {nowhere}"),
            &format!("403 link.test:8080 {nowhere}"),
            &format!("403 own.test:8080 {nowhere}"),
        ];
        assert_eq!(
            log.told("get").lines().collect::<Vec<_>>(),
            expected,
            "{user:?}"
        );
        let expected = [
            "HTTP/1.1 200 Connection established reached",
            "HTTP/1.1 200 Connection established closed",
            "HTTP/1.1 200 Connection established closed",
            "HTTP/1.1 403 Forbidden",
            "HTTP/1.1 403 Forbidden",
            "HTTP/1.1 403 Forbidden",
            "HTTP/1.1 403 Forbidden",
            "Network is unreachable",
            "1",
        ];
        let told: Vec<_> = log
            .told("tunnel")
            .lines()
            .filter(|line| !line.starts_with('['))
            .collect();
        assert_eq!(told[1..], expected, "{user:?}");
        let why =
            "\n[The host allowed.test:8080 was not reached: the tunnel is for another site.]\n";
        assert!(log.told("tunnel").contains(why), "{user:?}");
        let gone = log.told("gone");
        let told = "\n[The host gone.test:8080 was not reached: ";
        assert!(gone.contains(told), "{user:?}: {gone}");
        assert_eq!(log.told("input"), "Exit status 3.\nended");
        log.told_begins("missing", "Exit status 12");
    }
}

#[test]
fn a_host_that_is_none_is_an_error_of_the_settings() {
    let ground = SandboxGround::new(users()[0]);
    for (host, what) in [
        ("https://crates.io", "is not the name of a host"),
        ("localhost:8080", "is this machine"),
        (
            "crates.io/api",
            "is not the name of a host; write the name alone",
        ),
        ("127.0.0.1:8080", "is an address of this machine"),
    ] {
        ground
            .world
            .user_config(&format!("[sandbox]\nhosts = ['{host}']\n"));
        let done = ground.run(&[], &["--mode", "auto"]).exits(2);
        done.says(&format!("sandbox.hosts: `{host}` {what}"));
    }
}

#[test]
fn doctor_names_the_hosts() {
    let ground = SandboxGround::new(users()[0]);
    ground
        .world
        .user_config("[sandbox]\nhosts = ['crates.io', '*.npmjs.org']\n");
    let doctor = ground.aside(&["doctor"]);
    let line = "commands run inside one (bubblewrap), with network access limited to crates.io, *.npmjs.org\n";
    assert!(doctor.stdout.contains(line), "{doctor:?}");
}
