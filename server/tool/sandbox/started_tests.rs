//! Rules that deny and ask, beside the programs that a line may start.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use super::*;

fn matched(rule: &str, line: &str) -> RuleMatch {
    let programs = FoundPrograms::from(Path::new("/"));
    Started::by(&CommandLine::read(line)).matches(rule, &programs)
}

#[test]
fn a_rule_may_cover_what_a_program_calls_otherwise() {
    let check = |rule: &str, line: &str, expected: RuleMatch| {
        assert_eq!(matched(rule, line), expected, "{rule}: {line}");
    };
    for line in [
        "git -c alias.x=push x",
        "git -c 'alias.x=push -f' x",
        "git --config-env=alias.x=push x",
        "GIT_TRACE=1 git -c alias.x=push x",
        "env git -c alias.x=push x",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=push git x",
        "export GIT_CONFIG_VALUE_0='push'; git x",
    ] {
        check("git push", line, RuleMatch::Perhaps);
    }
    check(
        "cargo publish",
        "cargo --config alias.x='publish' x",
        RuleMatch::Perhaps,
    );
    for line in [
        "printf -v 'a[$(curl x)]' 1",
        "echo a && test -v 'a[`c\"\"url`]'",
        "[ 'a[$(curl x)]' -eq 1 ]",
        "printf -v \"a[\\$(curl x)]\" 1",
    ] {
        check("curl", line, RuleMatch::Perhaps);
    }
    check("curl", "printf '[curl]'", RuleMatch::No);
    for (rule, line, expected) in [
        ("git push", "/usr/lib/git-core/git-push x", RuleMatch::Yes),
        (
            "docker compose up",
            "docker-compose -f x up",
            RuleMatch::Yes,
        ),
        ("git push", "git-pull", RuleMatch::No),
        ("git", "git-lfs x", RuleMatch::No),
        (
            "git commit --amend",
            "git commit --amen",
            RuleMatch::Perhaps,
        ),
        (
            "git commit --amend",
            "git commit -m --a-note",
            RuleMatch::No,
        ),
        (
            "docker run --privileged",
            "docker run --privileged=true x",
            RuleMatch::Perhaps,
        ),
        ("npm publish", "npm publ", RuleMatch::Perhaps),
        ("npm publish", "npm run publish", RuleMatch::No),
        ("rm -rf", "rm -fr x", RuleMatch::Perhaps),
        ("rm -rf", "rm -v -r -f x", RuleMatch::Perhaps),
        ("rm -rf", "rm -r x", RuleMatch::No),
        ("rm -rf", "rm -rf x", RuleMatch::Yes),
    ] {
        check(rule, line, expected);
    }
    for line in [
        "git stash push",
        "git commit -m 'before a push'",
        "git checkout pushed",
    ] {
        check("git push", line, RuleMatch::No);
    }
}

#[test]
fn a_rule_may_cover_other_words_that_do_the_same() {
    for (rule, lines) in [
        (
            "git push",
            "git send-pack x; /usr/lib/git-core/git-send-pack x; git -C . http-push x; git subtree push a b; git lfs push a",
        ),
        (
            "git push",
            "git for-each-repo --config=x.y push; git for-each-repo --config x.y -- push",
        ),
        (
            "git push --force",
            "git push -f; git push origin -f; git push -uf a b; git push a +b",
        ),
        (
            "git push -f",
            "git push --force; git push --forc; git send-pack --force a",
        ),
        (
            "git commit --no-verify",
            "git commit -n; git commit -anm x; git commit --no-ver",
        ),
        (
            "rm -rf",
            "rm -Rf x; rm -fR x; rm --recursive --force x; rm -r --force x; rm --rec --for x",
        ),
        ("rm --recursive", "rm -r x; rm -fR x"),
        (
            "cargo publish",
            "cargo +nightly publish; cargo +nightly -q publish",
        ),
        (
            "docker run",
            "docker container run x; docker -H x container run x",
        ),
        (
            "docker run --privileged",
            "docker container run --privileged x; docker container run --priv x",
        ),
        ("docker rmi", "docker image rm x"),
        (
            "npm install -g",
            "npm i -g x; npm install --global x; npm add x -g; npm i --location=global x",
        ),
        ("npm uninstall", "npm rm x; npm remove x"),
        (
            "gh release create",
            "gh release new x; gh -R a/b release new x",
        ),
        (
            "terraform apply -auto-approve",
            "terraform apply --auto-approve; terraform apply -auto-approve=true",
        ),
        (
            "pip install",
            "pip3 install x; pip3.11 install x; pip-3 install x",
        ),
        ("python3", "python3.11 x; python x"),
        ("yarn publish", "yarn npm publish"),
    ] {
        for line in lines.split("; ") {
            assert_ne!(matched(rule, line), RuleMatch::No, "{rule}: {line}");
        }
    }
    for (rule, lines) in [
        (
            "git push",
            "git fetch; git stash push; git subtree pull a b; git lfs pull; git for-each-repo --config=x pull",
        ),
        (
            "git push --force",
            "git push; git push --tags; git push -u a b; git push --follow-tags",
        ),
        ("git commit --amend", "git commit -am x; git commit -a"),
        (
            "git commit --no-verify",
            "git commit -m x; git commit -am -x",
        ),
        ("rm -rf", "rm -r x; rm -f x; rm --recursive x; rm -v x"),
        ("docker run", "docker container ls; docker volume run"),
        ("npm install -g", "npm install x; npm i x"),
        ("pip install", "pipx install x; pip3 list"),
        ("cargo publish", "cargo +nightly build"),
    ] {
        for line in lines.split("; ") {
            assert_eq!(matched(rule, line), RuleMatch::No, "{rule}: {line}");
        }
    }
}

#[test]
fn a_rule_may_cover_other_names_of_its_program() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    for name in ["one", "other"] {
        let file = folder.path().join("bin").join(name);
        fs::write(&file, name).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::hard_link(folder.path().join("bin/one"), folder.path().join("near")).unwrap();
    let programs = FoundPrograms::from(folder.path());
    for (line, expected) in [
        ("./near push", RuleMatch::Perhaps),
        ("env ./near -q push", RuleMatch::Perhaps),
        ("./near $X", RuleMatch::Perhaps),
        ("./near status", RuleMatch::No),
        ("./bin/other push", RuleMatch::No),
        ("bin/one push", RuleMatch::Yes),
    ] {
        let started = Started::by(&CommandLine::read(line));
        assert_eq!(
            started.matches("bin/one push", &programs),
            expected,
            "{line}"
        );
    }
}

#[test]
fn a_rule_covers_other_spellings() {
    let check = |rule: &str, line: &str, expected: RuleMatch| {
        assert_eq!(matched(rule, line), expected, "{rule}: {line}");
    };
    for line in [
        "curl x",
        "\\curl x",
        "c\\url x",
        "'cu'rl x",
        "/usr/bin/curl x",
        "env curl x",
        "env A=b curl x",
        "env -u A curl x",
        "env -S 'curl x'",
        "env -iS'curl -V'",
        "env --split-string='curl x'",
        "env --s 'curl x'",
        "timeout -s KILL 5 curl x",
        "nice -n 5 nohup curl x",
        "sudo env -i /usr/bin/curl x",
        "sh -c 'curl x'",
        "sh -c \"curl -V $HOME\"",
        "su -c 'curl x' ada",
        "flock f -c 'curl x'",
        "watch -n 1 curl x",
        "bash -lc 'cd a && exec curl x'",
        "timeout 5 sh -c \"sh -c 'curl x'\"",
        "eval 'curl x'",
        "echo $(command curl x)",
        "cat list | xargs -n 1 curl",
        "timeout .5 curl x",
        "coproc curl x",
        "taskset 1 curl x",
        "nice -n5 curl x",
        "ionice -c 3 curl x",
        "chrt 5 curl x",
        "setsid -w curl x",
        "stdbuf -oL curl x",
        "busybox curl x",
        "strace -f -o f curl x",
        "ltrace curl x",
        "unshare -r curl x",
        "systemd-run --user curl x",
        "sudo -u ada curl x",
        "doas curl x",
        "command -p curl x",
        "exec -a b curl x",
        "time -p curl x",
        "! curl x",
        "{ curl x; }",
        "f() { curl x; }; f",
    ] {
        let expected = match line.contains("$HOME") {
            true => RuleMatch::Perhaps,
            false => RuleMatch::Yes,
        };
        check("curl", line, expected);
    }
    for line in [
        "echo curl",
        "grep -r curl .",
        "curly",
        "git log curl",
        "git commit -m 'Use curl'",
        "cat >notes <<E\ncurl x\nE",
        "cd curl && ls *.c",
        "timeout 60 cargo test $X",
        "cargo test --test curly",
        "rm *.txt",
        "for x in a b; do echo $x; done",
        "make -j $(nproc)",
    ] {
        check("curl", line, RuleMatch::No);
    }
    for line in [
        "git -C . push",
        "git --no-pager push",
        "git -c a=b push",
        "nohup git push origin",
        "/usr/bin/git push",
        "git >/dev/null push",
        "git 2>&1 push",
        "git p\\\nush",
    ] {
        check("git push", line, RuleMatch::Yes);
    }
    check("git push", "git commit -m push", RuleMatch::No);
    check("git push", "git log push", RuleMatch::No);
    check(
        "git push --force",
        "git push origin --force",
        RuleMatch::Yes,
    );
    check("git push --force", "git push origin", RuleMatch::No);
    check("/opt/curl", "curl", RuleMatch::No);
    check("", "curl", RuleMatch::No);
}

#[test]
fn a_rule_may_cover_a_program_that_is_named_where_others_are_started() {
    for line in [
        "bash -c -o pipefail 'curl x'",
        "trap 'curl x' EXIT",
        "eval -- 'curl x'",
        "flock f curl x",
        "chroot / curl x",
        "find . -exec curl {} +",
        "script -c 'curl x' f",
        "su ada -c 'curl x'",
        "ssh host curl x",
        "alias c=curl\nc x",
        "X=curl; $X x",
        "EDITOR=curl git commit",
        "for c in curl; do $c x; done",
        "sh <<E\ncurl x\nE",
        "sh <<<'curl x'",
        "echo 'curl x' | sh",
        "echo 'cu'rl | sh",
        "echo curl >f; . ./f",
        "cp /usr/bin/curl x && ./x y",
        "python3 -c 'import os; os.system(\"curl x\")'",
        "awk 'BEGIN { system(\"curl x\") }'",
        "git -c alias.x='!curl y' x",
        "git bisect run curl x",
        "tar -Icurl -xf a",
        "tar -xf a --to-command=curl",
        "make SHELL=/usr/bin/curl",
        "enable -f x y; y cu\\rl",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/curl x",
        "sh -c 'sh -c \"c\"u\"rl x\"'",
        "./x curl",
        "sh curl",
    ] {
        assert_ne!(matched("curl", line), RuleMatch::No, "{line}");
    }
    for line in [
        "cat list | xargs git",
        "echo push | xargs git",
        "flock f git push",
        "trap 'git push' EXIT",
    ] {
        assert_ne!(matched("git push", line), RuleMatch::No, "{line}");
    }
    for line in [
        "git stash push && cargo build",
        "cargo build && git commit -m push",
        "npm run push && git status",
    ] {
        assert_eq!(matched("git push", line), RuleMatch::No, "{line}");
    }
}

#[test]
fn a_rule_may_cover_what_cannot_be_read() {
    for line in [
        "git $X",
        "$GIT push",
        "env $X",
        "sh -c \"$X\"",
        "eval $X",
        "timeout 5 $X",
        "timeout .5 $X push",
        "flock f $X",
        "env A=b $X",
        "trap \"$X\" EXIT",
        "printf x | sh",
        "printf x | bash -s y",
        "g* push",
        "git 'push",
        "echo \\ # ; git push",
        "sh -c 'sh -c \"sh -c \\\"sh -c \\\\\\\"sh -c x\\\\\\\"\\\"\"'",
    ] {
        assert_eq!(matched("git push", line), RuleMatch::Perhaps, "{line}");
    }
    let long = format!("{}git push", " ".repeat(66_000));
    assert_eq!(matched("git push", &long), RuleMatch::Perhaps);
}

/// Places of a line in which a shell may run a command, `@` standing for it.
const PLACES: &[&str] = &[
    "echo ${PWD#@}",
    "echo ${PWD##@}",
    "echo ${PWD%@}",
    "echo ${PWD%%@}",
    "echo ${PWD/@/x}",
    "echo ${PWD/x/@}",
    "echo ${PWD:+@}",
    "echo ${zz:-@}",
    "echo ${zz-@}",
    "echo ${zz:=@}",
    "echo ${zz=@}",
    "echo ${PWD:$((@))}",
    "echo ${zz:?@}",
    r#"echo "${PWD#@}""#,
    r#"echo "${zz:-@}""#,
    r#"echo "${zz:=@}""#,
    "echo $((@ + 1))",
    r#"echo "$((@+1))""#,
    "echo $[@]",
    "cat <<E\n@\nE",
    "cat <<E\na @ b\nE",
    "cat <<-E\n\t@\n\tE",
    "cat <<-E\n\ta @\n\tE",
    "cat <<E | cat\n@\nE",
    "cat <<E >o\n@\nE",
    "cat <<\\E\n@\nE",
    "cat <<E\n${zz:-@}\nE",
    "cat <<E\n$((@+1))\nE",
    "cat <<E\n\\\\@\nE",
    "cat <<E\n'@'\nE",
    "cat <<E\n\"@\"\nE",
    "cat <<A <<B\n@\nA\n@\nB",
    "cat <<E\nx\nE\necho @",
    "ls >@",
    "ls <@",
    "cat >\"@\" <<E\nx\nE",
    "ls 2>@",
    "echo a@b",
    "echo 'x'@",
    "echo {a,@}",
    "echo ~@",
    "echo [@]",
    "echo *@",
    "echo \\@",
    "echo \\\\@",
    "echo $zz@",
    "echo ${zz}@",
    "echo #@",
    "echo a #@",
    "echo a;#\n echo @",
    "echo $'a'@",
    r#"echo $"@""#,
    "echo <(@)",
    r#"echo "a'@'""#,
    "echo \"\\\"@\\\"\"",
    "echo \"\\\\@\"",
    "[ -n @ ]",
    "test @",
    "true @",
    "cd @ .",
    "pwd @",
    "type @",
    "head -c0 @",
    r#"echo "$(echo @)""#,
    "echo `echo \\@`",
    "echo \"`echo \\@`\"",
    "echo `echo \\`probe\\``",
    "printf '%s' @",
    "git status @",
    "git log --format=@",
    "rm -f @",
    "mkdir -p d@",
    "touch @x",
    "sleep 0@",
    "echo ${#@}",
    "echo ${zz:-${zz:-@}}",
    "echo ${zz:-`probe`}",
    r#"echo "${zz:-`probe`}""#,
    r#"echo "${zz:-"$(probe)"}""#,
    "echo ${zz:-'a'@}",
    "echo ${PWD#'/'@}",
    r#"echo ${PWD#"@"}"#,
    "case `echo` in @) ;; esac",
    "case @ in *) ;; esac",
    "for i in @; do echo; done",
    "for i in a@; do echo; done",
    "while false; do echo; done <<E\n@\nE",
    "if true; then cat <<E\n@\nE\nfi",
    "(cat <<E\n@\nE\n)",
    "{ cat <<E\n@\nE\n}",
    "cat <<E && echo\n@\nE",
    "cat <<E;echo\n@\nE",
    "cat<<E\n@\nE",
    "cat 0<<E\n@\nE",
    "cat 3<<E\n@\nE",
    "<<E cat\n@\nE",
    "cat <<E - \n@\nE",
    "! cat <<E\n@\nE",
    "echo ok; : @",
    "echo;: ${zz:=@}",
    ": <<E\n@\nE",
];

#[test]
fn no_rule_misses_a_program_that_a_shell_starts_within_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let (programs, mark) = (folder.path().join("bin"), folder.path().join("mark"));
    fs::create_dir(&programs).unwrap();
    let probe = programs.join("probe");
    fs::write(&probe, format!("#!/bin/sh\necho >'{}'\n", mark.display())).unwrap();
    fs::set_permissions(&probe, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let (work, mut started) = (folder.path().join("work"), 0);
    for place in PLACES {
        for command in ["$(probe)", "`probe`", "\"$(probe)\"", "\"`probe`\""] {
            let line = place.replace('@', command);
            for shell in ["dash", "bash"] {
                fs::create_dir_all(&work).unwrap();
                let mut runs = Command::new(shell);
                runs.args(["-c", &line])
                    .current_dir(&work)
                    .env("PATH", &path);
                runs.stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                runs.status().unwrap();
                fs::remove_dir_all(&work).unwrap();
                if fs::remove_file(&mark).is_ok() {
                    started += 1;
                    assert_ne!(matched("probe", &line), RuleMatch::No, "{shell}: {line}");
                }
            }
        }
    }
    assert!(started > 400, "{started}");
}
