//! Small real projects are built and tested inside, unasked, and the guards break nothing of that.

use std::path::Path;

use super::ground::{SandboxGround, SandboxedCall, User, auto_run, program, script_of_steps};
use crate::world::start;

/// The results of the steps of one turn. Each has to succeed.
fn all_succeed(ground: &SandboxGround, commands: &[&str]) -> Vec<String> {
    let ids: Vec<String> = (0..commands.len()).map(|it| format!("step{it}")).collect();
    let calls = ids.iter().zip(commands).map(|(id, command)| SandboxedCall {
        id,
        command: (*command).to_owned(),
        cwd: ".",
    });
    let model = ground
        .world
        .script(&script_of_steps(&calls.collect::<Vec<_>>()));
    let args = auto_run(&model, &["--strict"]);
    start(&mut ground.command(program(), &args)).end().exits(0);
    let log = ground.world.log();
    let all: Vec<String> = ids.iter().map(|id| log.told(id).to_owned()).collect();
    for (told, command) in all.iter().zip(commands) {
        assert!(told.contains("Exit status 0.\n"), "{command}: {told}");
    }
    all
}

/// Runs a command outside of the sandbox, in the workspace.
#[track_caller]
fn outside(ground: &SandboxGround, command: &str) {
    let done = start(&mut ground.command(Path::new("sh"), &["-c", command])).end();
    assert_eq!(done.code, 0, "{command}: {done:?}");
}

/// Packages of which one ships names that are protected elsewhere, and a project that depends on both.
const PACKAGES: &str = "mkdir -p dep/.husky dep/.vscode other; echo true >dep/.husky/pre-commit; echo {} >dep/.vscode/tasks.json; \
    echo x=1 >dep/.envrc; echo 'module.exports = 2' >dep/index.js; echo 'module.exports = 3' >other/index.js; \
    echo '{\"name\":\"dep\",\"version\":\"1.0.0\"}' >dep/package.json; \
    echo '{\"name\":\"other\",\"version\":\"1.0.0\"}' >other/package.json; \
    echo '{\"name\":\"p\",\"version\":\"1.0.0\",\"dependencies\":{\"dep\":\"file:dep-1.0.0.tgz\",\"other\":\"file:other-1.0.0.tgz\"}}' >package.json; \
    echo 'console.log(require(\"dep\") * require(\"other\"))' >main.js; \
    npm pack ./dep >/dev/null; npm pack ./other >/dev/null; rm -r dep other; \
    npm install --no-audit --no-fund >/dev/null 2>&1";

#[test]
fn packages_are_installed_again_and_again_whatever_they_ship() {
    let ground = SandboxGround::new(User::Same);
    outside(&ground, PACKAGES);
    let install = "npm ci --offline --no-audit --no-fund 2>&1 && node main.js";
    let told = all_succeed(
        &ground,
        &[
            install,
            install,
            "rm -rf node_modules && npm install --offline --no-audit --no-fund 2>&1 && node main.js",
            "find node_modules -name .husky",
        ],
    );
    for told in &told[..3] {
        assert!(told.starts_with("Exit") && told.ends_with("\n6"), "{told}");
    }
    assert!(told[3].ends_with("node_modules/dep/.husky"), "{told:?}");
}

#[test]
fn files_are_renamed_between_packages_of_a_monorepo() {
    let ground = SandboxGround::new(User::Same);
    ground.world.user_config("[sandbox]\ngit = true\n");
    for (file, text) in [
        ("packages/web/src/a.txt", "a\n"),
        ("packages/web/.npmrc", "x=1\n"),
        ("packages/web/.vscode/settings.json", "{}\n"),
        ("packages/api/b.txt", "b\n"),
        ("packages/api/.envrc", "\n"),
        ("packages/tool/c.txt", "c\n"),
    ] {
        ground.world.write(file, text);
    }
    outside(&ground, "git init -q . && git add -A");
    all_succeed(
        &ground,
        &[
            "python3 -c 'import os; os.rename(\"packages/api/b.txt\", \"packages/web/src/b.txt\")'",
            "git mv packages/tool packages/web/src/tool",
            "git mv packages/web packages/site && cat packages/site/.npmrc",
            "python3 -c 'import os; os.rename(\"packages/site/src/b.txt\", \"packages/api/b.txt\")'",
            "mkdir -p packages/new/.cargo-cache && mv packages/new packages/newer && rm -r packages/newer",
        ],
    );
}

#[test]
fn programs_that_are_built_run() {
    let ground = SandboxGround::new(User::Same);
    for (file, text) in [
        (
            "Makefile",
            "hello: main.c\n\t$(CC) -o $@ main.c\ntest: hello\n\t./hello | grep -q hello\n.PHONY: test\n",
        ),
        (
            "main.c",
            "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n",
        ),
        (".vscode/tasks.json", "{}\n"),
        (
            "tests/test_pool.py",
            "import concurrent.futures, os\n\n\ndef double(x):\n    return 2 * x\n\n\n\
          if __name__ == '__main__':\n    with concurrent.futures.ProcessPoolExecutor() as pool:\n        \
          assert list(pool.map(double, [1, 2])) == [2, 4]\n    print('pooled')\n",
        ),
    ] {
        ground.world.write(file, text);
    }
    let told = all_succeed(
        &ground,
        &[
            "make test 2>&1 && make -B test 2>&1",
            "python3 tests/test_pool.py",
            "python3 -m venv --without-pip .venv && .venv/bin/python -c 'print(\"in\")' && rm -r .venv",
        ],
    );
    assert!(told[1].ends_with("pooled"), "{told:?}");
}
