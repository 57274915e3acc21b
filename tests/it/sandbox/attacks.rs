//! Ways out. Each is shown to lead out of a command without walls.

/// A way out of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attack {
    pub(super) name: &'static str,
    /// The command line. It runs in a folder of its own in the workspace; `{out}` is a folder outside with the file
    /// `f`, `{up}` the way there by `..`, `{victim}` a process outside, `{tcp}` and `{udp}` ports that are listened at,
    /// `{home}` and `{state}` folders of the user's, `{work}` the workspace, `{aside}` the program, `{mark}` what a listener
    /// has to hear, `{shared}` a name that only this test uses, `{prompt}` a
    /// prompt of a turn in `{out}` that waits for a person.
    pub(super) command: &'static str,
    /// What shows that it came through.
    pub(super) effect: Effect,
    /// What the sandbox says to it: one of these, each between bars.
    pub(super) error: &'static str,
    /// Who runs the tests may not do this without a sandbox either, here and there.
    pub(super) needs_rights: bool,
}

impl Attack {
    /// It aims at places of the workspace that are protected, which have to be there then.
    pub(super) fn is_at_places(&self) -> bool {
        PROTECTED.iter().any(|it| it.name == self.name)
    }
}

/// What shows that an attack came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Something outside, or a protected place of its folder, is other than before.
    Changes,
    /// Its output has this.
    Prints(&'static str),
    /// A listener outside heard its mark.
    Hears,
    /// The process outside ended.
    Ends,
}

const fn attack(
    name: &'static str,
    command: &'static str,
    effect: Effect,
    error: &'static str,
) -> Attack {
    Attack {
        name,
        command,
        effect,
        error,
        needs_rights: false,
    }
}

/// One for which an ordinary user, or root in a container, may lack the rights.
const fn rights(
    name: &'static str,
    command: &'static str,
    effect: Effect,
    error: &'static str,
) -> Attack {
    Attack {
        needs_rights: true,
        ..attack(name, command, effect, error)
    }
}

use Effect::{Changes, Ends, Hears, Prints};

/// What a kernel says of a file system that is not written.
const FIXED: &str = "Read-only file system";
const OUT: Effect = Prints("REACHED");
/// A place that is mounted cannot be moved or removed.
const HELD: &str = "Device or resource busy|Read-only file system";

/// Files and folders outside of the workspace.
const OUTSIDE: &[Attack] = &[
    attack("absolute", "echo x >{out}/f", Changes, FIXED),
    attack("dots", "echo x >{up}/f", Changes, FIXED),
    attack("append", "echo x >>{out}/f", Changes, FIXED),
    attack(
        "folder_link",
        "ln -s {out} l && echo x >l/f",
        Changes,
        FIXED,
    ),
    attack("file_link", "ln -s {out}/f l && echo x >l", Changes, FIXED),
    attack(
        "relative_link",
        "ln -s {up}/f l && echo x >l",
        Changes,
        FIXED,
    ),
    attack(
        "hard_link",
        "ln {out}/f h && echo x >h",
        Changes,
        "Invalid cross-device link",
    ),
    attack("rename_in", "mv {out}/f g", Changes, FIXED),
    attack("rename_out", "echo x >g && mv g {out}/g", Changes, FIXED),
    attack(
        "rename_over",
        "echo x >g && mv -f g {out}/f",
        Changes,
        FIXED,
    ),
    attack(
        "rename_call",
        "echo x >g && python3 -c 'import os; os.rename(\"g\", \"{out}/f\")'",
        Changes,
        "Invalid cross-device link",
    ),
    attack("remove", "rm -f {out}/f", Changes, FIXED),
    attack("make_folder", "mkdir {out}/d", Changes, FIXED),
    attack("make_pipe", "mkfifo {out}/p", Changes, FIXED),
    attack("make_link", "ln -s x {out}/l", Changes, FIXED),
    attack("mode", "chmod 0777 {out}/f", Changes, FIXED),
    attack(
        "mode_link",
        "ln -s {out}/f l && chmod 0777 l",
        Changes,
        FIXED,
    ),
    attack("time", "touch -d 2001-01-01 {out}/f", Changes, FIXED),
    attack(
        "truncate",
        "python3 -c 'import os; os.truncate(\"{out}/f\", 1)'",
        Changes,
        FIXED,
    ),
    attack("in_place", "sed -i s/safe/x/ {out}/f", Changes, FIXED),
    attack("copy_over", "echo x >g && cp g {out}/f", Changes, FIXED),
    attack("dd", "echo x | dd of={out}/f conv=notrunc", Changes, FIXED),
    attack(
        "install",
        "echo x >g && install g {out}/bin",
        Changes,
        FIXED,
    ),
    attack(
        "tar",
        "mkdir t && echo x >t/f && tar cf t.tar -C t f && tar xf t.tar -C {out} --overwrite",
        Changes,
        FIXED,
    ),
    attack("working_folder", "cd {out} && echo x >f", Changes, FIXED),
    attack(
        "through_proc",
        "echo x >/proc/self/root{out}/f",
        Changes,
        FIXED,
    ),
    attack(
        "through_parent",
        "echo x >/proc/$PPID/root{out}/f",
        Changes,
        "Read-only file system|Permission denied",
    ),
    attack(
        "through_victim",
        "echo x >/proc/{victim}/root{out}/f",
        Changes,
        "No such file or directory|Directory nonexistent",
    ),
    attack(
        "swapped",
        "mkdir s && (i=0; while [ $i -lt 200 ]; do rm -rf s; ln -s {out} s 2>/dev/null; rm -f s; mkdir s; i=$((i+1)); done) & i=0; while [ $i -lt 400 ]; do echo x >s/f; i=$((i+1)); done 2>&1 | sort -u; wait; ln -sfn {out} s; rm -rf s; ln -s {out} s; echo x >s/f",
        Changes,
        FIXED,
    ),
    rights(
        "remount",
        "mount -o remount,bind,rw / ; echo x >{out}/f",
        Changes,
        FIXED,
    ),
    rights(
        "mount_over",
        "mkdir m && echo x >m/f && mount --bind m {out} && cat {out}/f && umount {out} && echo REACHED",
        OUT,
        "must be superuser|permission denied|Operation not permitted",
    ),
    rights(
        "new_mounts",
        "unshare -Urm sh -c 'mount -o remount,bind,rw / ; echo x >{out}/f'",
        Changes,
        "Operation not permitted",
    ),
    rights(
        "other_mounts",
        "nsenter -t 1 -m sh -c 'echo x >{out}/f'",
        Changes,
        "Operation not permitted|No such file|Permission denied|reassociate",
    ),
    rights(
        "other_root",
        "chroot /proc/1/root sh -c 'echo x >{out}/f'",
        Changes,
        "Operation not permitted|Permission denied|cannot change root",
    ),
];

/// Places of the workspace from which others take code.
const PROTECTED: &[Attack] = &[
    attack("hook", "echo x >.git/hooks/pre-commit", Changes, FIXED),
    attack(
        "new_hook",
        "echo x >.git/hooks/post-checkout",
        Changes,
        FIXED,
    ),
    attack(
        "hook_mode",
        "chmod 0755 .git/hooks/pre-commit",
        Changes,
        FIXED,
    ),
    attack("git_config", "echo '[core]' >>.git/config", Changes, FIXED),
    attack(
        "git_monitor",
        "git config core.fsmonitor ./x",
        Changes,
        FIXED,
    ),
    attack("git_removed", "rm -rf .git", Changes, HELD),
    attack("git_moved", "mv .git g && mkdir .git", Changes, HELD),
    attack("git_linked", "rm -rf .git; ln -s g .git", Changes, HELD),
    attack(
        "git_hard_link",
        "ln .git/config h && echo x >>h",
        Changes,
        "Invalid cross-device link",
    ),
    attack(
        "nested_hook",
        "echo x >sub/nested/.git/hooks/pre-commit",
        Changes,
        FIXED,
    ),
    attack(
        "ancestor_moved",
        "mv sub/nested sub/n && mkdir -p sub/nested/.git/hooks && echo x >sub/nested/.git/hooks/pre-commit",
        Changes,
        "Device or resource busy",
    ),
    attack(
        "high_ancestor_moved",
        "mv sub s && mkdir -p sub/nested/.git/hooks && echo x >sub/nested/.git/hooks/pre-commit",
        Changes,
        "Device or resource busy",
    ),
    attack(
        "ancestor_linked",
        "mkdir -p new/nested/.git/hooks && echo x >new/nested/.git/hooks/pre-commit && mv sub s && ln -s new sub",
        Changes,
        "Device or resource busy",
    ),
    attack("worktree", "echo 'gitdir: /x' >tree/.git", Changes, FIXED),
    attack("bare", "echo x >>bare/config", Changes, FIXED),
    attack(
        "bare_hook",
        "mkdir bare/hooks && echo x >bare/hooks/update",
        Changes,
        FIXED,
    ),
    attack(
        "settings",
        "echo 'unsandboxed = true' >>aside.toml",
        Changes,
        FIXED,
    ),
    attack(
        "settings_replaced",
        "echo x >t && mv -f t aside.toml",
        Changes,
        HELD,
    ),
    attack("settings_removed", "rm -f aside.toml", Changes, HELD),
    attack("cargo", "echo x >>.cargo/config.toml", Changes, FIXED),
    attack(
        "cargo_moved",
        "mv .cargo c && mkdir .cargo && echo x >.cargo/config.toml",
        Changes,
        "Device or resource busy",
    ),
    attack("editor", "echo x >.vscode/tasks.json", Changes, FIXED),
    attack("mcp", "echo x >.mcp.json", Changes, FIXED),
    attack("direnv", "echo x >>.envrc", Changes, FIXED),
    attack("husky", "echo x >.husky/pre-commit", Changes, FIXED),
    rights(
        "git_unmounted",
        "umount .git; mount -o remount,bind,rw .git; echo x >.git/config",
        Changes,
        FIXED,
    ),
];

/// The user's home, and what is Aside's own.
const OWN: &[Attack] = &[
    attack("shell_start", "echo x >>{home}/.bashrc", Changes, FIXED),
    attack(
        "git_global",
        "git config --global core.hooksPath ./x",
        Changes,
        FIXED,
    ),
    attack(
        "key",
        "cat {home}/.ssh/id_ed25519",
        Prints("PRIVATE"),
        "No such file",
    ),
    attack(
        "netrc",
        "cat {home}/.netrc; echo read",
        Prints("PRIVATE"),
        "read",
    ),
    attack(
        "other_secrets",
        "cat {home}/.config/git/credentials {home}/.local/share/fish/fish_history {home}/.config/pip/pip.conf \
         {home}/.config/Code/User/globalStorage/state.vscdb; echo read",
        Prints("PRIVATE"),
        "read",
    ),
    attack(
        "user_settings",
        "cat {home}/../config/aside/aside.toml",
        Prints("PRIVATE"),
        "No such file",
    ),
    attack(
        "user_settings_changed",
        "echo '# x' >>{home}/../config/aside/aside.toml",
        Changes,
        FIXED,
    ),
    attack(
        "user_settings_new",
        "echo x >{home}/../config/aside/new",
        Changes,
        FIXED,
    ),
    attack(
        "state_read",
        "cat {state}/secret",
        Prints("PRIVATE"),
        "No such file",
    ),
    attack(
        "state_listed",
        "ls {state}; echo listed",
        Prints("secret"),
        "listed",
    ),
    attack(
        "trust_file",
        // At once, since others of the round read it.
        "echo '{}' >{state}/new && mv {state}/new {state}/trust.json",
        Changes,
        FIXED,
    ),
    attack(
        "trust",
        "{aside} --cwd {out} trust --yes && echo REACHED",
        OUT,
        "Read-only file system",
    ),
    attack(
        "resume",
        "{aside} --cwd {out} run --resume --trust --answer {prompt}=once && echo REACHED",
        OUT,
        "Read-only file system|no conversation",
    ),
    attack(
        "conversations",
        "{aside} --cwd {work} conversation list | grep -q Go && echo REACHED; echo looked",
        OUT,
        "looked",
    ),
];

/// Sockets.
const NETWORK: &[Attack] = &[
    attack(
        "tcp",
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {tcp})).send(b\"{mark} \")'",
        Hears,
        "Connection refused|Network is unreachable",
    ),
    attack(
        "udp",
        "python3 -c 'import socket; s = socket.socket(2, 2); s.connect((\"127.0.0.1\", {udp})); s.send(b\"{mark}\"); s.settimeout(0.2); s.recv(1)'",
        Hears,
        "Connection refused|Network is unreachable",
    ),
    attack(
        "path_socket",
        "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"{out}/../socket\"); s.send(b\"{mark} \")'",
        Hears,
        "Permission denied",
    ),
    attack(
        "abstract_socket",
        "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"\\0{shared}\"); s.send(b\"{mark} \")'",
        Hears,
        "Permission denied",
    ),
    rights(
        "virtual_machines",
        "python3 -c 'import socket; socket.socket(socket.AF_VSOCK); print(\"REACHED\")'",
        OUT,
        "Permission denied",
    ),
    rights(
        "kernel_crypto",
        "python3 -c 'import socket; socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET); print(\"REACHED\")'",
        OUT,
        "Permission denied",
    ),
    rights(
        "raw_packets",
        "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print(\"REACHED\")'",
        OUT,
        "Permission denied",
    ),
    rights(
        "rings",
        "python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); c.syscall(425, 8, None); e = ctypes.get_errno(); print(\"REACHED\" if e == 14 else os.strerror(e))'",
        OUT,
        "Function not implemented",
    ),
    rights(
        "x32",
        "python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); r = c.syscall(0x40000000 + 41, 1, 1, 0); print(\"REACHED\" if r >= 0 else os.strerror(ctypes.get_errno()))'",
        OUT,
        "Function not implemented",
    ),
];

/// Processes outside, and the kernel.
const MACHINE: &[Attack] = &[
    attack("signal", "kill -KILL {victim}", Ends, "No such process"),
    attack(
        "signal_all_names",
        "pkill -KILL -f 's[l]eep 1000 0.0{mark}'; echo none",
        Ends,
        "none",
    ),
    attack(
        "signal_handle",
        "python3 -c 'import os, signal; signal.pidfd_send_signal(os.pidfd_open({victim}), 9)'",
        Ends,
        "No such process|ProcessLookupError",
    ),
    attack(
        "priority",
        "renice 19 -p {victim} && echo REACHED",
        OUT,
        "No such process",
    ),
    attack(
        "environment",
        "cat /proc/{victim}/environ",
        Prints("PRIVATE"),
        "No such file",
    ),
    attack(
        "every_environment",
        "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | sort -u",
        Prints("PRIVATE"),
        "ASIDE_CHILD",
    ),
    attack(
        "open_files",
        "ls -l /proc/{victim}/fd && echo REACHED",
        OUT,
        "No such file",
    ),
    rights(
        "trace",
        "python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); r = c.ptrace(16, {victim}, 0, 0); print(\"REACHED\" if r == 0 else os.strerror(ctypes.get_errno()))'",
        OUT,
        "Operation not permitted",
    ),
    rights(
        "memory",
        "python3 -c 'open(\"/proc/{victim}/mem\", \"r+b\"); print(\"REACHED\")'",
        OUT,
        "No such file",
    ),
    attack(
        "shared_memory",
        "cat /dev/shm/{shared}",
        Prints("PRIVATE"),
        "No such file",
    ),
    attack(
        "temporary_files",
        "cat /tmp/{shared}",
        Prints("PRIVATE"),
        "No such file",
    ),
    rights(
        "core_pattern",
        "python3 -c 'open(\"/proc/sys/kernel/core_pattern\", \"r+\"); print(\"REACHED\")'",
        OUT,
        "Read-only file system|Permission denied",
    ),
    rights(
        "kernel_settings",
        "python3 -c 'open(\"/proc/sys/kernel/randomize_va_space\", \"r+\"); print(\"REACHED\")'",
        OUT,
        "Read-only file system|Permission denied",
    ),
    rights(
        "kernel_memory",
        "python3 -c 'open(\"/proc/kcore\", \"rb\"); print(\"REACHED\")'",
        OUT,
        "Operation not permitted|Permission denied|No such file",
    ),
    rights(
        "devices",
        "for d in /sys/block/*; do d=/dev/${d##*/}; [ -e \"$d\" ] && echo REACHED; done; echo looked",
        OUT,
        "looked",
    ),
    rights(
        "groups",
        "python3 -c 'import glob; open(glob.glob(\"/sys/fs/cgroup/**/cgroup.procs\", recursive=True)[0], \"r+\"); print(\"REACHED\")'",
        OUT,
        "Read-only file system|Permission denied|list index out of range",
    ),
    rights(
        "uevent",
        "python3 -c 'open(\"/sys/class/mem/null/uevent\", \"r+\"); print(\"REACHED\")'",
        OUT,
        "Read-only file system|Permission denied",
    ),
    rights(
        "keys",
        "python3 -c 'import ctypes, os; n = {\"x86_64\": 250, \"aarch64\": 219}[os.uname().machine]; c = ctypes.CDLL(None, use_errno=True); r = c.syscall(n, 0, -3, 1); print(\"REACHED\" if r >= 0 else os.strerror(ctypes.get_errno()))'",
        OUT,
        "Operation not permitted",
    ),
    attack(
        "set_user_id",
        "cp /bin/true x && chmod 4755 x; test -u x && echo REACHED",
        OUT,
        "Operation not permitted",
    ),
    attack(
        "set_user_id_made",
        "python3 -c 'import os; os.umask(0); os.close(os.open(\"x\", os.O_CREAT | os.O_WRONLY, 0o4755))'; test -u x && echo REACHED",
        OUT,
        "Operation not permitted",
    ),
    attack(
        "set_user_id_of_descriptor",
        "python3 -c 'import os; os.fchmod(os.open(\"x\", os.O_CREAT | os.O_WRONLY), 0o6755)'; test -u x && echo REACHED",
        OUT,
        "Operation not permitted",
    ),
    attack(
        "set_user_id_by_number",
        "touch x; python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); r = c.syscall(452, -100, b\"x\", 0o4755, 0); print(os.strerror(ctypes.get_errno()))'; test -u x && echo REACHED; python3 -c 'import os; os.chmod(\"x\", 0o4755)'; test -u x && echo REACHED",
        OUT,
        "Operation not permitted",
    ),
    attack(
        "set_user_id_node",
        "python3 -c 'import os, stat; os.umask(0); os.mknod(\"x\", stat.S_IFREG | 0o4755)'; test -u x && echo REACHED",
        OUT,
        "Operation not permitted",
    ),
    rights(
        "privileges",
        "grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo REACHED; echo looked",
        OUT,
        "looked",
    ),
    rights(
        "new_privileges",
        "unshare -Ur true && echo REACHED",
        OUT,
        "Operation not permitted",
    ),
    rights(
        "new_privileges_cloned",
        "python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); r = c.unshare(0x10000000); print(\"REACHED\" if r == 0 else os.strerror(ctypes.get_errno()))'",
        OUT,
        "Operation not permitted",
    ),
];

/// All of them, in rounds that run at once. Those that aim at protected places are few in a round: each brings places of
/// its own, and a sandbox takes the longer for each place the more of them there are.
pub(super) fn rounds() -> Vec<Vec<Attack>> {
    let others = [OUTSIDE, OWN, NETWORK, MACHINE].concat();
    let rounds = others.chunks(8).chain(PROTECTED.chunks(3));
    rounds.map(<[Attack]>::to_vec).collect()
}
