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
        attacks(PROTECTED).iter().any(|it| it.name == self.name)
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

/// Reads a table of attacks. Each is two lines: its name, `with rights` where an ordinary user, or root in a container, may
/// lack the rights, its effect, and what the sandbox says; then the command line. A line with `#` is a comment.
fn attacks(table: &'static str) -> Vec<Attack> {
    let lines = table.lines().map(str::trim);
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let read = |two: &[&'static str]| {
        let head: Vec<&str> = two[0].splitn(3, ": ").collect();
        let (name, rights) = match head[0].strip_suffix(", with rights") {
            Some(name) => (name, true),
            None => (head[0], false),
        };
        let effect = match head[1].split_once(' ') {
            Some(("prints", text)) => Effect::Prints(text),
            _ if head[1] == "changes" => Effect::Changes,
            _ if head[1] == "hears" => Effect::Hears,
            _ => {
                assert_eq!(head[1], "ends", "{name}");
                Effect::Ends
            }
        };
        Attack {
            name,
            command: two[1],
            effect,
            error: head[2],
            needs_rights: rights,
        }
    };
    lines.chunks(2).map(read).collect()
}

/// Files and folders outside of the workspace.
const OUTSIDE: &str = r#"
    absolute: changes: Read-only file system
        echo x >{out}/f
    dots: changes: Read-only file system
        echo x >{up}/f
    append: changes: Read-only file system
        echo x >>{out}/f
    folder_link: changes: Read-only file system
        ln -s {out} l && echo x >l/f
    file_link: changes: Read-only file system
        ln -s {out}/f l && echo x >l
    relative_link: changes: Read-only file system
        ln -s {up}/f l && echo x >l
    hard_link: changes: Invalid cross-device link
        ln {out}/f h && echo x >h
    rename_in: changes: Read-only file system
        mv {out}/f g
    rename_out: changes: Read-only file system
        echo x >g && mv g {out}/g
    rename_over: changes: Read-only file system
        echo x >g && mv -f g {out}/f
    rename_call: changes: Invalid cross-device link
        echo x >g && python3 -c 'import os; os.rename("g", "{out}/f")'
    remove: changes: Read-only file system
        rm -f {out}/f
    make_folder: changes: Read-only file system
        mkdir {out}/d
    make_pipe: changes: Read-only file system
        mkfifo {out}/p
    make_link: changes: Read-only file system
        ln -s x {out}/l
    mode: changes: Read-only file system
        chmod 0777 {out}/f
    mode_link: changes: Read-only file system
        ln -s {out}/f l && chmod 0777 l
    time: changes: Read-only file system
        touch -d 2001-01-01 {out}/f
    truncate: changes: Read-only file system
        python3 -c 'import os; os.truncate("{out}/f", 1)'
    in_place: changes: Read-only file system
        sed -i s/safe/x/ {out}/f
    copy_over: changes: Read-only file system
        echo x >g && cp g {out}/f
    dd: changes: Read-only file system
        echo x | dd of={out}/f conv=notrunc
    install: changes: Read-only file system
        echo x >g && install g {out}/bin
    tar: changes: Read-only file system
        mkdir t && echo x >t/f && tar cf t.tar -C t f && tar xf t.tar -C {out} --overwrite
    working_folder: changes: Read-only file system
        cd {out} && echo x >f
    through_proc: changes: Read-only file system
        echo x >/proc/self/root{out}/f
    through_parent: changes: Read-only file system|Permission denied
        echo x >/proc/$PPID/root{out}/f
    through_victim: changes: No such file or directory|Directory nonexistent
        echo x >/proc/{victim}/root{out}/f
    swapped: changes: Read-only file system
        mkdir s && (i=0; while [ $i -lt 200 ]; do rm -rf s; ln -s {out} s 2>/dev/null; rm -f s; mkdir s; i=$((i+1)); done) & i=0; while [ $i -lt 400 ]; do echo x >s/f; i=$((i+1)); done 2>&1 | sort -u; wait; ln -sfn {out} s; rm -rf s; ln -s {out} s; echo x >s/f
    remount, with rights: changes: Read-only file system
        mount -o remount,bind,rw / ; echo x >{out}/f
    mount_over, with rights: prints REACHED: must be superuser|permission denied|Operation not permitted
        mkdir m && echo x >m/f && mount --bind m {out} && cat {out}/f && umount {out} && echo REACHED
    new_mounts, with rights: changes: Operation not permitted
        unshare -Urm sh -c 'mount -o remount,bind,rw / ; echo x >{out}/f'
    other_mounts, with rights: changes: Operation not permitted|No such file|Permission denied|reassociate
        nsenter -t 1 -m sh -c 'echo x >{out}/f'
    other_root, with rights: changes: Operation not permitted|Permission denied|cannot change root
        PATH=$PATH:/usr/sbin chroot /proc/1/root sh -c 'echo x >{out}/f'
"#;

/// Places of the workspace from which others take code.
const PROTECTED: &str = "
    hook: changes: Read-only file system
        echo x >.git/hooks/pre-commit
    new_hook: changes: Read-only file system
        echo x >.git/hooks/post-checkout
    hook_mode: changes: Read-only file system
        chmod 0755 .git/hooks/pre-commit
    git_config: changes: Read-only file system
        echo '[core]' >>.git/config
    git_monitor: changes: Read-only file system
        git config core.fsmonitor ./x
    git_removed: changes: Device or resource busy|Read-only file system
        rm -rf .git
    git_moved: changes: Device or resource busy|Read-only file system
        mv .git g && mkdir .git
    git_linked: changes: Device or resource busy|Read-only file system
        rm -rf .git; ln -s g .git
    git_hard_link: changes: Invalid cross-device link
        ln .git/config h && echo x >>h
    nested_hook: changes: Read-only file system
        echo x >sub/nested/.git/hooks/pre-commit
    ancestor_moved: changes: Device or resource busy
        mv sub/nested sub/n && mkdir -p sub/nested/.git/hooks && echo x >sub/nested/.git/hooks/pre-commit
    high_ancestor_moved: changes: Device or resource busy
        mv sub s && mkdir -p sub/nested/.git/hooks && echo x >sub/nested/.git/hooks/pre-commit
    ancestor_linked: changes: Device or resource busy
        mkdir -p new/nested/.git/hooks && echo x >new/nested/.git/hooks/pre-commit && mv sub s && ln -s new sub
    worktree: changes: Read-only file system
        echo 'gitdir: /x' >tree/.git
    bare: changes: Read-only file system
        echo x >>bare/config
    bare_hook: changes: Read-only file system
        mkdir bare/hooks && echo x >bare/hooks/update
    settings: changes: Read-only file system
        echo 'unsandboxed = true' >>aside.toml
    settings_replaced: changes: Device or resource busy|Read-only file system
        echo x >t && mv -f t aside.toml
    settings_removed: changes: Device or resource busy|Read-only file system
        rm -f aside.toml
    cargo: changes: Read-only file system
        echo x >>.cargo/config.toml
    cargo_moved: changes: Device or resource busy
        mv .cargo c && mkdir .cargo && echo x >.cargo/config.toml
    editor: changes: Read-only file system
        echo x >.vscode/tasks.json
    mcp: changes: Read-only file system
        echo x >.mcp.json
    direnv: changes: Read-only file system
        echo x >>.envrc
    husky: changes: Read-only file system
        echo x >.husky/pre-commit
    git_unmounted, with rights: changes: Read-only file system
        umount .git; mount -o remount,bind,rw .git; echo x >.git/config
";

/// The user's home, and what is Aside's own.
const OWN: &str = "
    shell_start: changes: Read-only file system
        echo x >>{home}/.bashrc
    git_global: changes: Read-only file system
        git config --global core.hooksPath ./x
    key: prints PRIVATE: No such file
        cat {home}/.ssh/id_ed25519
    netrc: prints PRIVATE: read
        cat {home}/.netrc; echo read
    other_secrets: prints PRIVATE: read
        cat {home}/.config/git/credentials {home}/.local/share/fish/fish_history {home}/.config/pip/pip.conf {home}/.config/Code/User/globalStorage/state.vscdb; echo read
    user_settings: prints PRIVATE: No such file
        cat {home}/../config/aside/aside.toml
    user_settings_changed: changes: Read-only file system
        echo '# x' >>{home}/../config/aside/aside.toml
    user_settings_new: changes: Read-only file system
        echo x >{home}/../config/aside/new
    state_read: prints PRIVATE: No such file
        cat {state}/secret
    state_listed: prints secret: listed
        ls {state}; echo listed
    # At once, since others of the round read it.
    trust_file: changes: Read-only file system
        echo '{}' >{state}/new && mv {state}/new {state}/trust.json
    trust: prints REACHED: Read-only file system
        {aside} --cwd {out} trust --yes && echo REACHED
    resume: prints REACHED: Read-only file system|no conversation
        {aside} --cwd {out} run --resume --trust --answer {prompt}=once && echo REACHED
    conversations: prints REACHED: looked
        {aside} --cwd {work} conversation list | grep -q Go && echo REACHED; echo looked
";

/// Sockets.
const NETWORK: &str = r#"
    tcp: hears: Connection refused|Network is unreachable
        python3 -c 'import socket; socket.create_connection(("127.0.0.1", {tcp})).send(b"{mark} ")'
    udp: hears: Connection refused|Network is unreachable
        python3 -c 'import socket; s = socket.socket(2, 2); s.connect(("127.0.0.1", {udp})); s.send(b"{mark}"); s.settimeout(0.2); s.recv(1)'
    path_socket: hears: Connection refused|Permission denied
        python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("{out}/../socket"); s.send(b"{mark} ")'
    renamed_socket: hears: Connection refused|Permission denied
        python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("{out}/../moved"); s.send(b"{mark} ")'
    socket_of_packets: hears: Connection refused|Permission denied
        python3 -c 'import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b"{mark} ", "{out}/../packets")'
    named_pipe: hears: Permission denied
        echo '{mark} ' >{out}/../pipe
    abstract_socket: hears: Connection refused|Permission denied
        python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("\0{shared}"); s.send(b"{mark} ")'
    virtual_machines, with rights: prints REACHED: Permission denied
        python3 -c 'import socket; socket.socket(socket.AF_VSOCK); print("REACHED")'
    kernel_crypto, with rights: prints REACHED: Permission denied
        python3 -c 'import socket; socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET); print("REACHED")'
    raw_packets, with rights: prints REACHED: Permission denied
        python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print("REACHED")'
    rings, with rights: prints REACHED: Function not implemented
        python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); c.syscall(425, 8, None); e = ctypes.get_errno(); print("REACHED" if e == 14 else os.strerror(e))'
    x32, with rights: prints REACHED: Function not implemented
        python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); r = c.syscall(0x40000000 + 41, 1, 1, 0); print("REACHED" if r >= 0 else os.strerror(ctypes.get_errno()))'
"#;

/// Processes outside, and the kernel.
const MACHINE: &str = r#"
    signal: ends: No such process
        kill -KILL {victim}
    signal_all_names: ends: none
        pkill -KILL -f 's[l]eep 1000 0.0{mark}'; echo none
    signal_handle: ends: No such process|ProcessLookupError
        python3 -c 'import os, signal; signal.pidfd_send_signal(os.pidfd_open({victim}), 9)'
    priority: prints REACHED: No such process
        renice 19 -p {victim} && echo REACHED
    environment: prints PRIVATE: No such file
        cat /proc/{victim}/environ
    every_environment: prints PRIVATE: ASIDE_CHILD
        cat /proc/[0-9]*/environ | tr '\0' '\n' | sort -u
    open_files: prints REACHED: No such file
        ls -l /proc/{victim}/fd && echo REACHED
    trace, with rights: prints REACHED: Operation not permitted
        python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); r = c.ptrace(16, {victim}, 0, 0); print("REACHED" if r == 0 else os.strerror(ctypes.get_errno()))'
    memory, with rights: prints REACHED: No such file
        python3 -c 'open("/proc/{victim}/mem", "r+b"); print("REACHED")'
    shared_memory: prints PRIVATE: No such file
        cat /dev/shm/{shared}
    temporary_files: prints PRIVATE: No such file
        cat /tmp/{shared}
    core_pattern, with rights: prints REACHED: Read-only file system|Permission denied
        python3 -c 'open("/proc/sys/kernel/core_pattern", "r+"); print("REACHED")'
    kernel_settings, with rights: prints REACHED: Read-only file system|Permission denied
        python3 -c 'open("/proc/sys/kernel/randomize_va_space", "r+"); print("REACHED")'
    kernel_memory, with rights: prints REACHED: Operation not permitted|Permission denied|No such file
        python3 -c 'open("/proc/kcore", "rb"); print("REACHED")'
    devices, with rights: prints REACHED: looked
        for d in /sys/block/*; do d=/dev/${d##*/}; [ -e "$d" ] && echo REACHED; done; echo looked
    groups, with rights: prints REACHED: Read-only file system|Permission denied|list index out of range
        python3 -c 'import glob; open(glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)[0], "r+"); print("REACHED")'
    uevent, with rights: prints REACHED: Read-only file system|Permission denied
        python3 -c 'open("/sys/class/mem/null/uevent", "r+"); print("REACHED")'
    keys, with rights: prints REACHED: Operation not permitted
        python3 -c 'import ctypes, os; n = {"x86_64": 250, "aarch64": 219}[os.uname().machine]; c = ctypes.CDLL(None, use_errno=True); r = c.syscall(n, 0, -3, 1); print("REACHED" if r >= 0 else os.strerror(ctypes.get_errno()))'
    set_user_id: prints REACHED: Operation not permitted
        cp /bin/true x && chmod 4755 x; test -u x && echo REACHED
    set_user_id_made: prints REACHED: Operation not permitted
        python3 -c 'import os; os.umask(0); os.close(os.open("x", os.O_CREAT | os.O_WRONLY, 0o4755))'; test -u x && echo REACHED
    set_user_id_of_descriptor: prints REACHED: Operation not permitted
        python3 -c 'import os; os.fchmod(os.open("x", os.O_CREAT | os.O_WRONLY), 0o6755)'; test -u x && echo REACHED
    set_user_id_by_number: prints REACHED: Operation not permitted
        touch x; python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); r = c.syscall(452, -100, b"x", 0o4755, 0); print(os.strerror(ctypes.get_errno()))'; test -u x && echo REACHED; python3 -c 'import os; os.chmod("x", 0o4755)'; test -u x && echo REACHED
    set_user_id_node: prints REACHED: Operation not permitted
        python3 -c 'import os, stat; os.umask(0); os.mknod("x", stat.S_IFREG | 0o4755)'; test -u x && echo REACHED
    privileges, with rights: prints REACHED: looked
        grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo REACHED; echo looked
    new_privileges, with rights: prints REACHED: Operation not permitted
        unshare -Ur true && echo REACHED
    new_privileges_cloned, with rights: prints REACHED: Operation not permitted
        python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); r = c.unshare(0x10000000); print("REACHED" if r == 0 else os.strerror(ctypes.get_errno()))'
"#;

/// All of them, in rounds that run at once. Those that aim at protected places are few in a round: each brings places of
/// its own, and a sandbox takes the longer for each place the more of them there are.
pub(super) fn rounds() -> Vec<Vec<Attack>> {
    let others = [OUTSIDE, OWN, NETWORK, MACHINE].map(attacks).concat();
    let protected = attacks(PROTECTED);
    let rounds = others.chunks(8).chain(protected.chunks(3));
    rounds.map(<[Attack]>::to_vec).collect()
}
