//! The filter of system calls (seccomp) for sandboxed commands.
//!
//! VM sockets and the like lead out of the sandbox, so only internet sockets can be created (in a network of the command's
//! own, unless the user allows more), and Unix sockets where those outside are out of sight. New namespaces give
//! capabilities back, `io_uring` bypasses a filter, and kernel keys belong to the user's session. Setuid bits cannot be set,
//! because such a program would run as the user outside. Some file systems make and remove subvolumes and snapshots by a
//! request to any open file, whatever is mounted where.

/// An instruction of the filter, in the kernel's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    code: u16,
    /// Number of instructions to skip if the comparison holds.
    then: u8,
    /// Number of instructions to skip if it does not.
    otherwise: u8,
    value: u32,
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUALS: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const HAS_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Offsets of the call's number, the architecture, and the lower half of the first argument.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
/// Offset from one argument to the next.
const ARGUMENT: u32 = 8;

/// Numbers from here on belong to the x32 calls, which this filter does not know.
const OTHER_NUMBERS: u32 = 0x4000_0000;

#[cfg(target_arch = "x86_64")]
const OURS: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const OURS: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OURS: Option<u32> = None;

/// Calls that fail with `ENOSYS`, so that programs fall back to others.
const ABSENT: [libc::c_long; 5] = [
    // Their flags are in memory, which a filter cannot read; programs fall back to `clone` and `openat`.
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Calls that fail with `EPERM`.
const REFUSED: [libc::c_long; 20] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
];

/// The setuid bit. The setgid bit is allowed, because folders use it too and no argument tells which is meant.
const AS_OWNER: u32 = libc::S_ISUID;

/// Calls that set a file's mode, with the index of that argument.
const MODES: &[(libc::c_long, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    // `fchmodat2` has this number on every architecture.
    (452, 2),
    (libc::SYS_mknodat, 2),
];

/// Calls that open a file, with the index of the flags. If the flags create the file, the next argument is its mode.
const OPENS: &[(libc::c_long, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];
/// Flags that create a file: `O_CREAT`, and `O_TMPFILE` without the `O_DIRECTORY` that it contains.
const MAKES: u32 = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned();

/// The kinds of requests of Btrfs and of bcachefs, in the second byte of a request's number.
const KINDS_OF_VOLUMES: [u32; 2] = [0x9400, 0xbc00];
const KIND: u32 = 0xff00;
/// Those of the same kind with which programs share blocks between files: `FICLONE`, `FICLONERANGE`, `FIDEDUPERANGE`.
const SHARED_BLOCKS: [u32; 3] = [0x4004_9409, 0x4020_940d, 0xc018_9436];
/// Requests that lock the user's encrypted folders: `FS_IOC_REMOVE_ENCRYPTION_KEY`, and that for all users.
const LOCKS: [u32; 2] = [0xc040_6618, 0xc040_6619];

/// Families of sockets that can be created, the last where Unix sockets can.
const SOCKETS: [libc::c_int; 4] = [
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
    libc::AF_UNIX,
];

/// The filter as bytes in native order, and whether it lets Unix sockets be created. `None` if the processor's calls are not
/// known.
pub(crate) fn program(has_unix: bool) -> Option<Vec<u8>> {
    let bytes = instructions(OURS?, has_unix)
        .into_iter()
        .flat_map(|instruction| {
            let [a, b] = instruction.code.to_ne_bytes();
            let [c, d, e, f] = instruction.value.to_ne_bytes();
            [a, b, instruction.then, instruction.otherwise, c, d, e, f]
        });
    Some(bytes.collect())
}

/// Kinds of pairs of Unix sockets that reach nothing but each other. One for datagrams may be connected to any socket.
const PAIRS: [libc::c_int; 8] = {
    const BOTH: libc::c_int = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    [
        libc::SOCK_STREAM,
        libc::SOCK_STREAM | libc::SOCK_CLOEXEC,
        libc::SOCK_STREAM | libc::SOCK_NONBLOCK,
        libc::SOCK_STREAM | BOTH,
        libc::SOCK_SEQPACKET,
        libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC,
        libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK,
        libc::SOCK_SEQPACKET | BOTH,
    ]
};

fn instructions(architecture: u32, has_unix: bool) -> Vec<Instruction> {
    let mut all = vec![
        load(ARCHITECTURE),
        // Calls of another architecture have other numbers.
        jump(EQUALS, architecture, 1, 0),
        fail(libc::ENOSYS),
        load(NUMBER),
        jump(AT_LEAST, OTHER_NUMBERS, 0, 1),
        fail(libc::ENOSYS),
    ];
    for number in ABSENT {
        all.extend([jump(EQUALS, number_of(number), 0, 1), fail(libc::ENOSYS)]);
    }
    for number in REFUSED {
        all.extend([jump(EQUALS, number_of(number), 0, 1), fail(libc::EPERM)]);
    }
    for number in [libc::SYS_clone, libc::SYS_unshare] {
        all.extend([
            jump(EQUALS, number_of(number), 0, 4),
            load(FIRST_ARGUMENT),
            jump(HAS_BIT, libc::CLONE_NEWUSER.cast_unsigned(), 0, 1),
            fail(libc::EPERM),
            allow(),
        ]);
    }
    for (number, mode) in MODES {
        all.extend([
            jump(EQUALS, number_of(*number), 0, 4),
            load(FIRST_ARGUMENT + mode * ARGUMENT),
            jump(HAS_BIT, AS_OWNER, 0, 1),
            fail(libc::EPERM),
            allow(),
        ]);
    }
    for (number, flags) in OPENS {
        all.extend([
            jump(EQUALS, number_of(*number), 0, 6),
            load(FIRST_ARGUMENT + flags * ARGUMENT),
            jump(HAS_BIT, MAKES, 0, 3),
            load(FIRST_ARGUMENT + (flags + 1) * ARGUMENT),
            jump(HAS_BIT, AS_OWNER, 0, 1),
            fail(libc::EPERM),
            allow(),
        ]);
    }
    let requests = requests();
    all.push(jump(
        EQUALS,
        number_of(libc::SYS_ioctl),
        0,
        requests.len() as u8,
    ));
    all.extend(requests);
    if !has_unix {
        let kinds = PAIRS.len() as u8;
        all.extend([
            jump(EQUALS, number_of(libc::SYS_socketpair), 0, kinds + 3),
            load(FIRST_ARGUMENT + ARGUMENT),
        ]);
        for (place, kind) in (0..kinds).zip(PAIRS) {
            all.push(jump(EQUALS, kind.cast_unsigned(), kinds - place, 0));
        }
        all.extend([fail(libc::EACCES), allow()]);
    }
    let families = SOCKETS.len() as u8 - u8::from(!has_unix);
    all.extend([
        jump(EQUALS, number_of(libc::SYS_socket), 0, families + 2),
        load(FIRST_ARGUMENT),
    ]);
    for (place, family) in (0..families).zip(SOCKETS) {
        let to_the_end = families - place;
        all.push(jump(EQUALS, family.cast_unsigned(), to_the_end, 0));
    }
    all.extend([fail(libc::EACCES), allow()]);
    all
}

/// The rules for a request to an open file (`ioctl`), whatever it is.
fn requests() -> Vec<Instruction> {
    // Only the lower half of the argument counts for the kernel too.
    let mut all = vec![load(FIRST_ARGUMENT + ARGUMENT)];
    for request in SHARED_BLOCKS {
        all.extend([jump(EQUALS, request, 0, 1), allow()]);
    }
    for request in LOCKS {
        all.extend([jump(EQUALS, request, 0, 1), fail(libc::EPERM)]);
    }
    all.push(jump(AND, KIND, 0, 0));
    for kind in KINDS_OF_VOLUMES {
        // As on a file system that does not know the request.
        all.extend([jump(EQUALS, kind, 0, 1), fail(libc::ENOTTY)]);
    }
    all.push(allow());
    all
}

const fn load(offset: u32) -> Instruction {
    instruction(LOAD, offset, 0, 0)
}

const fn jump(code: u16, value: u32, then: u8, otherwise: u8) -> Instruction {
    instruction(code, value, then, otherwise)
}

fn fail(error: libc::c_int) -> Instruction {
    instruction(
        RETURN,
        libc::SECCOMP_RET_ERRNO | error.cast_unsigned(),
        0,
        0,
    )
}

const fn allow() -> Instruction {
    instruction(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0)
}

const fn instruction(code: u16, value: u32, then: u8, otherwise: u8) -> Instruction {
    Instruction {
        code,
        then,
        otherwise,
        value,
    }
}

/// Converts a call's number, which is small and positive.
fn number_of(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86_64: u32 = 0xc000_003e;

    /// What the filter says of a call: 0 for allowed, else the error. As the kernel would run it.
    fn says(architecture: u32, number: u32, arguments: [u32; 4]) -> u32 {
        says_where(architecture, number, arguments, false)
    }

    /// The same where Unix sockets may be created, or not.
    fn says_where(architecture: u32, number: u32, arguments: [u32; 4], has_unix: bool) -> u32 {
        let all = instructions(X86_64, has_unix);
        let (mut at, mut loaded) = (0, 0);
        loop {
            let Instruction {
                code,
                then,
                otherwise,
                value,
            } = all[at];
            let holds = match code {
                LOAD => {
                    loaded = match value {
                        NUMBER => number,
                        ARCHITECTURE => architecture,
                        offset => arguments[((offset - FIRST_ARGUMENT) / ARGUMENT) as usize],
                    };
                    at += 1;
                    continue;
                }
                AND => {
                    loaded &= value;
                    at += 1;
                    continue;
                }
                RETURN if value == libc::SECCOMP_RET_ALLOW => return 0,
                RETURN => return value & 0xffff,
                EQUALS => loaded == value,
                AT_LEAST => loaded >= value,
                HAS_BIT => loaded & value != 0,
                other => panic!("{other}"),
            };
            at += 1 + usize::from(if holds { then } else { otherwise });
        }
    }

    #[test]
    fn what_leads_out_is_refused_and_the_rest_is_not() {
        let check = |call: libc::c_long, argument: i32, error: i32| {
            let said = says(X86_64, number_of(call), [argument.cast_unsigned(), 0, 0, 0]);
            assert_eq!(said, error.cast_unsigned(), "{call} {argument}");
        };
        check(libc::SYS_read, 0, 0);
        check(libc::SYS_execve, 0, 0);
        for (kind, has_unix, error) in [
            (libc::SOCK_STREAM, false, 0),
            (libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, false, 0),
            (libc::SOCK_DGRAM, false, libc::EACCES),
            (libc::SOCK_RAW | libc::SOCK_NONBLOCK, false, libc::EACCES),
            (libc::SOCK_DGRAM, true, 0),
        ] {
            let arguments = [libc::AF_UNIX.cast_unsigned(), kind.cast_unsigned(), 0, 0];
            let number = number_of(libc::SYS_socketpair);
            let said = says_where(X86_64, number, arguments, has_unix);
            assert_eq!(said, error.cast_unsigned(), "{kind}, {has_unix}");
        }
        check(libc::SYS_socket, libc::AF_INET, 0);
        check(libc::SYS_socket, libc::AF_INET6, 0);
        check(libc::SYS_socket, libc::AF_NETLINK, 0);
        check(libc::SYS_socket, libc::AF_UNIX, libc::EACCES);
        check(libc::SYS_socket, libc::AF_VSOCK, libc::EACCES);
        check(libc::SYS_socket, libc::AF_ALG, libc::EACCES);
        for (family, error) in [(libc::AF_UNIX, 0), (libc::AF_VSOCK, libc::EACCES)] {
            let arguments = [family.cast_unsigned(), 0, 0, 0];
            let said = says_where(X86_64, number_of(libc::SYS_socket), arguments, true);
            assert_eq!(said, error.cast_unsigned(), "{family}");
        }
        check(libc::SYS_clone, libc::SIGCHLD, 0);
        check(libc::SYS_clone, libc::CLONE_NEWUSER, libc::EPERM);
        check(libc::SYS_unshare, libc::CLONE_NEWNET, 0);
        check(
            libc::SYS_unshare,
            libc::CLONE_NEWNS | libc::CLONE_NEWUSER,
            libc::EPERM,
        );
        for call in ABSENT {
            check(call, 0, libc::ENOSYS);
        }
        for call in REFUSED {
            check(call, 0, libc::EPERM);
        }
    }

    #[test]
    fn no_request_makes_or_removes_volumes_whatever_is_mounted() {
        for (request, error) in [
            // BTRFS_IOC_SNAP_CREATE and _V2, SNAP_DESTROY and _V2, SUBVOL_SETFLAGS, DEFAULT_SUBVOL
            (0x5000_9401, libc::ENOTTY),
            (0x5000_9417, libc::ENOTTY),
            (0x5000_940f, libc::ENOTTY),
            (0x5000_943f, libc::ENOTTY),
            (0x4008_941a, libc::ENOTTY),
            (0x4008_9413, libc::ENOTTY),
            // BCH_IOCTL_SUBVOLUME_DESTROY
            (0x4020_bc11, libc::ENOTTY),
            // FS_IOC_REMOVE_ENCRYPTION_KEY
            (0xc040_6618, libc::EPERM),
            // FICLONE, FICLONERANGE, FIDEDUPERANGE, TIOCGWINSZ, FIONREAD, FS_IOC_GETFLAGS
            (0x4004_9409, 0),
            (0x4020_940d, 0),
            (0xc018_9436, 0),
            (0x5413, 0),
            (0x541b, 0),
            (0x8008_6601, 0),
        ] {
            let said = says(X86_64, number_of(libc::SYS_ioctl), [3, request, 0, 0]);
            assert_eq!(said, error.cast_unsigned(), "{request:x}");
        }
    }

    #[test]
    fn no_file_is_made_to_run_as_its_owner() {
        let check = |call: libc::c_long, arguments: [u32; 4], error: i32| {
            let said = says(X86_64, number_of(call), arguments);
            assert_eq!(said, error.cast_unsigned(), "{call} {arguments:?}");
        };
        for (call, mode) in MODES {
            for (value, error) in [(0o755, 0), (0o2775, 0), (0o4755, libc::EPERM)] {
                // What stands beside it is no mode.
                let mut arguments = [AS_OWNER; 4];
                arguments[*mode as usize] = value;
                check(*call, arguments, error);
            }
        }
        let makes = libc::O_CREAT.cast_unsigned();
        let unnamed = libc::O_TMPFILE.cast_unsigned();
        let folder = libc::O_DIRECTORY.cast_unsigned();
        for (call, flags) in OPENS {
            for (flag, mode, error) in [
                (makes, 0o644, 0),
                (makes, 0o4755, libc::EPERM),
                (unnamed, 0o4755, libc::EPERM),
                (folder, 0o4755, 0),
                (0, 0o4755, 0),
            ] {
                let mut arguments = [AS_OWNER; 4];
                arguments[*flags as usize] = flag;
                arguments[*flags as usize + 1] = mode;
                check(*call, arguments, error);
            }
        }
    }

    #[test]
    fn calls_that_are_numbered_otherwise_are_none() {
        let absent = libc::ENOSYS.cast_unsigned();
        assert_eq!(says(0x4000_0003, 0, [0; 4]), absent, "those of 32 bits");
        assert_eq!(
            says(X86_64, OTHER_NUMBERS + 41, [1, 0, 0, 0]),
            absent,
            "those of x32"
        );
        assert_eq!(
            says(X86_64, 0x3fff_ffff, [0; 4]),
            0,
            "one of a later kernel"
        );
    }

    #[test]
    fn an_instruction_has_eight_bytes() {
        let bytes = program(true).map(|bytes| bytes.len());
        assert_eq!(bytes, OURS.map(|ours| instructions(ours, true).len() * 8));
    }
}
