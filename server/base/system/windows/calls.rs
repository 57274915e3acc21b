//! The system's own functions, each behind a safe one.
#![expect(unsafe_code, reason = "the system's functions are unsafe to call")]

use std::{
    ffi::{OsStr, OsString, c_void},
    fs::File,
    io,
    os::windows::{
        ffi::{OsStrExt, OsStringExt},
        io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle},
    },
    path::{Path, PathBuf},
    ptr::{null, null_mut},
};

use windows_sys::Win32::{
    Foundation::{
        ERROR_SUCCESS, HANDLE, HANDLE_FLAG_INHERIT, INVALID_HANDLE_VALUE, LocalFree,
        SetHandleInformation, WAIT_OBJECT_0, WAIT_TIMEOUT,
    },
    Security::{
        ACCESS_ALLOWED_ACE, ACL,
        Authorization::{GetNamedSecurityInfoW, GetSecurityInfo, SE_FILE_OBJECT},
        DACL_SECURITY_INFORMATION, EqualSid, GetAce, GetTokenInformation, INHERIT_ONLY_ACE,
        IsWellKnownSid, OWNER_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID, TOKEN_ELEVATION,
        TOKEN_QUERY, TOKEN_USER, TokenElevation, TokenUser, WELL_KNOWN_SID_TYPE, WinAnonymousSid,
        WinAuthenticatedUserSid, WinBuiltinAdministratorsSid, WinBuiltinGuestsSid,
        WinBuiltinUsersSid, WinInteractiveSid, WinLocalSystemSid, WinWorldSid,
    },
    Storage::FileSystem::{
        BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO, FILE_NAME_NORMALIZED, FILE_TYPE_DISK,
        FILE_TYPE_PIPE, FileBasicInfo, GetFileInformationByHandle, GetFileInformationByHandleEx,
        GetFileType, GetFinalPathNameByHandleW, LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY,
        LockFileEx, ReplaceFileW, UnlockFileEx, VOLUME_NAME_DOS,
    },
    System::{
        Console::{
            CONSOLE_SCREEN_BUFFER_INFO, FlushConsoleInputBuffer, GetConsoleMode,
            GetConsoleScreenBufferInfo, GetNumberOfConsoleInputEvents, INPUT_RECORD, KEY_EVENT,
            PeekConsoleInputW, ReadConsoleInputW, ReadConsoleW, STD_HANDLE, SetConsoleMode,
            SetStdHandle, WriteConsoleW,
        },
        Diagnostics::{
            Debug::{
                SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SEM_NOOPENFILEERRORBOX, SetErrorMode,
            },
            ToolHelp::{
                CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First,
                Thread32Next,
            },
        },
        IO::OVERLAPPED,
        JobObjects::{
            AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
            JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
            JobObjectBasicAccountingInformation, JobObjectExtendedLimitInformation,
            QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
        },
        SystemServices::ACCESS_ALLOWED_ACE_TYPE,
        Threading::{
            CreateEventW, GetCurrentProcess, INFINITE, OpenProcess, OpenProcessToken, OpenThread,
            PROCESS_SYNCHRONIZE, ResetEvent, ResumeThread, SetEvent, THREAD_SUSPEND_RESUME,
            TerminateProcess, WaitForMultipleObjects, WaitForSingleObject,
        },
    },
};

/// Records of typed keys that are looked at.
const RECORDS: usize = 128;
/// Bytes that are written to a console at once.
const WRITTEN: usize = 8 << 10;

/// The text as the system takes it.
pub(super) fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain([0]).collect()
}

fn raw(handle: &impl AsHandle) -> HANDLE {
    handle.as_handle().as_raw_handle()
}

/// The error of a call that returns nothing else but whether it worked.
fn checked(worked: i32) -> io::Result<()> {
    match worked {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a call of the system has just returned the handle, which nobody else has.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// What the system tells of an open file besides its metadata.
pub(super) fn about(file: &File) -> io::Result<(BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO)> {
    let mut about = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the struct is as large as the system expects.
    checked(unsafe { GetFileInformationByHandle(raw(file), &raw mut about) })?;
    let mut basic = FILE_BASIC_INFO::default();
    let size = size_of::<FILE_BASIC_INFO>() as u32;
    let to = (&raw mut basic).cast::<c_void>();
    // SAFETY: as above, and its size is told.
    checked(unsafe { GetFileInformationByHandleEx(raw(file), FileBasicInfo, to, size) })?;
    Ok((about, basic))
}

/// The kind of what a handle leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandleKind {
    /// A file or folder of a disk.
    Disk,
    /// A pipe or a socket.
    Pipe,
    /// A console or another device, or nothing.
    Other,
}

pub(super) fn kind(of: &impl AsHandle) -> HandleKind {
    // SAFETY: the handle is borrowed for the call.
    match unsafe { GetFileType(raw(of)) } {
        FILE_TYPE_DISK => HandleKind::Disk,
        FILE_TYPE_PIPE => HandleKind::Pipe,
        _ => HandleKind::Other,
    }
}

/// The real path of an open file, in the form that begins with `\\?\`.
pub(super) fn final_path(of: &impl AsHandle) -> io::Result<PathBuf> {
    let flags = FILE_NAME_NORMALIZED | VOLUME_NAME_DOS;
    let mut path = vec![0_u16; 512];
    loop {
        let size = path.len() as u32;
        // SAFETY: the system writes at most as many units as it is told that there are.
        let length = unsafe { GetFinalPathNameByHandleW(raw(of), path.as_mut_ptr(), size, flags) };
        match length as usize {
            0 => return Err(io::Error::last_os_error()),
            length if length < path.len() => {
                return Ok(OsString::from_wide(&path[..length]).into());
            }
            more => path.resize(more + 1, 0),
        }
    }
}

/// Puts a new file into the place of another one, whose rights, attributes and further streams it gets.
pub(super) fn replace_file(place: &Path, new: &Path) -> io::Result<()> {
    let (place, new) = (wide(place.as_os_str()), wide(new.as_os_str()));
    // SAFETY: both texts end with a zero, and the others may be null.
    checked(unsafe { ReplaceFileW(place.as_ptr(), new.as_ptr(), null(), 0, null(), null()) })
}

/// Rights to a file, and who has them.
struct Security {
    owner: PSID,
    rights: *const ACL,
    descriptor: PSECURITY_DESCRIPTOR,
}

impl Drop for Security {
    fn drop(&mut self) {
        // SAFETY: the system allocated it, and nothing refers to it any more.
        unsafe { LocalFree(self.descriptor) };
    }
}

impl Security {
    fn at(path: &Path) -> io::Result<Self> {
        let path = wide(path.as_os_str());
        let (mut owner, mut rights, mut descriptor) = (null_mut(), null_mut(), null_mut());
        let wanted = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
        // SAFETY: the text ends with a zero; what is returned lives as long as the descriptor.
        let error = unsafe {
            GetNamedSecurityInfoW(
                path.as_ptr(),
                SE_FILE_OBJECT,
                wanted,
                &raw mut owner,
                null_mut(),
                &raw mut rights,
                null_mut(),
                &raw mut descriptor,
            )
        };
        Self::of_call(error, owner, rights, descriptor)
    }

    fn of(file: &File) -> io::Result<Self> {
        let (mut owner, mut rights, mut descriptor) = (null_mut(), null_mut(), null_mut());
        let wanted = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
        // SAFETY: as above, and the handle is open.
        let error = unsafe {
            GetSecurityInfo(
                raw(file),
                SE_FILE_OBJECT,
                wanted,
                &raw mut owner,
                null_mut(),
                &raw mut rights,
                null_mut(),
                &raw mut descriptor,
            )
        };
        Self::of_call(error, owner, rights, descriptor)
    }

    fn of_call(
        error: u32,
        owner: PSID,
        rights: *const ACL,
        descriptor: PSECURITY_DESCRIPTOR,
    ) -> io::Result<Self> {
        if error != ERROR_SUCCESS {
            return Err(io::Error::from_raw_os_error(error.cast_signed()));
        }
        Ok(Self {
            owner,
            rights,
            descriptor,
        })
    }

    /// Whether the owner is this process's user, or one that may do as that one anyway: an administrator or the system.
    fn is_own(&self) -> bool {
        is_one(
            self.owner,
            &[WinBuiltinAdministratorsSid, WinLocalSystemSid],
        ) || with_user(|user| {
            // SAFETY: both are valid for as long as this runs.
            (unsafe { EqualSid(self.owner, user) }) != 0
        })
        .unwrap_or(false)
    }

    /// Whether a list of rights gives one of these to each user of the machine. One without a list gives all.
    fn lets_everybody(&self, wanted: u32) -> bool {
        const ALL: [WELL_KNOWN_SID_TYPE; 6] = [
            WinWorldSid,
            WinAuthenticatedUserSid,
            WinBuiltinUsersSid,
            WinInteractiveSid,
            WinBuiltinGuestsSid,
            WinAnonymousSid,
        ];
        if self.rights.is_null() {
            return true;
        }
        // SAFETY: the list lives as long as the descriptor.
        let count = unsafe { (*self.rights).AceCount };
        (0..u32::from(count)).any(|index| {
            let mut entry: *mut c_void = null_mut();
            // SAFETY: the index is below the count.
            if unsafe { GetAce(self.rights, index, &raw mut entry) } == 0 {
                return true;
            }
            let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
            // SAFETY: each entry begins with this head; only one that allows something is read further.
            let (head, allows) = unsafe {
                let head = (*entry).Header;
                (head, u32::from(head.AceType) == ACCESS_ALLOWED_ACE_TYPE)
            };
            if !allows || u32::from(head.AceFlags) & INHERIT_ONLY_ACE != 0 {
                return false;
            }
            // SAFETY: an entry that allows something has a mask, and then a user or group.
            let (mask, who) = unsafe { ((*entry).Mask, (&raw mut (*entry).SidStart).cast()) };
            mask & wanted != 0 && is_one(who, &ALL)
        })
    }
}

/// Whether a user or group is one of these.
fn is_one(who: PSID, known: &[WELL_KNOWN_SID_TYPE]) -> bool {
    let is = |kind: &WELL_KNOWN_SID_TYPE| {
        // SAFETY: the caller's is valid.
        (unsafe { IsWellKnownSid(who, *kind) }) != 0
    };
    known.iter().any(is)
}

fn own_token() -> io::Result<OwnedHandle> {
    let mut token = null_mut();
    // SAFETY: the handle of this process is always valid.
    checked(unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) })?;
    owned(token)
}

/// Does something with the user of this process.
fn with_user<T>(work: impl FnOnce(PSID) -> T) -> io::Result<T> {
    let token = own_token()?;
    // Aligned as the struct that it begins with.
    let mut room = [0_u64; 32];
    let mut length = 0;
    let size = size_of_val(&room) as u32;
    let to = room.as_mut_ptr().cast();
    // SAFETY: the system writes at most as many bytes as it is told that there are.
    checked(unsafe { GetTokenInformation(raw(&token), TokenUser, to, size, &raw mut length) })?;
    // SAFETY: it wrote the struct, which refers to what lies behind it in the same room.
    let user = unsafe { (*room.as_ptr().cast::<TOKEN_USER>()).User.Sid };
    Ok(work(user))
}

/// Whether this process may do what an administrator may.
pub(super) fn is_elevated() -> io::Result<bool> {
    let token = own_token()?;
    let mut answer = TOKEN_ELEVATION::default();
    let mut length = 0;
    let size = size_of::<TOKEN_ELEVATION>() as u32;
    let to = (&raw mut answer).cast();
    // SAFETY: as above.
    checked(unsafe {
        GetTokenInformation(raw(&token), TokenElevation, to, size, &raw mut length)
    })?;
    Ok(answer.TokenIsElevated != 0)
}

/// Whether an open file belongs to this process's user, or to one who may do as that one.
pub(super) fn is_own_file(file: &File) -> io::Result<bool> {
    Ok(Security::of(file)?.is_own())
}

/// Whether what lies at a path belongs to this process's user, or to one who may do as that one.
pub(super) fn is_own_path(path: &Path) -> io::Result<bool> {
    Ok(Security::at(path)?.is_own())
}

/// Whether each user of the machine has one of these rights to what lies at a path.
pub(super) fn lets_everybody(path: &Path, wanted: u32) -> io::Result<bool> {
    Ok(Security::at(path)?.lets_everybody(wanted))
}

/// Makes this the standard stream that programs find by this name.
pub(super) fn set_standard(which: STD_HANDLE, handle: &impl AsHandle) -> io::Result<()> {
    // SAFETY: the caller keeps the handle open as long as the process runs.
    checked(unsafe { SetStdHandle(which, raw(handle)) })
}

/// Keeps children from inheriting a handle.
pub(super) fn keep_from_children(handle: BorrowedHandle<'_>) {
    // SAFETY: the handle is borrowed for the call. One that cannot be inherited anyway is an error without harm.
    unsafe { SetHandleInformation(raw(&handle), HANDLE_FLAG_INHERIT, 0) };
}

/// The mode of a console.
pub(super) fn console_mode(of: &impl AsHandle) -> io::Result<u32> {
    let mut mode = 0;
    // SAFETY: the handle is borrowed for the call.
    checked(unsafe { GetConsoleMode(raw(of), &raw mut mode) })?;
    Ok(mode)
}

/// Sets the mode of a console.
pub(super) fn set_console_mode(of: &impl AsHandle, mode: u32) -> io::Result<()> {
    // SAFETY: as above.
    checked(unsafe { SetConsoleMode(raw(of), mode) })
}

/// The columns and rows of a console's window.
pub(super) fn console_size(of: &impl AsHandle) -> io::Result<(usize, usize)> {
    let mut about = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: as above.
    checked(unsafe { GetConsoleScreenBufferInfo(raw(of), &raw mut about) })?;
    let window = about.srWindow;
    let length = |from: i16, to: i16| usize::try_from(i32::from(to) - i32::from(from) + 1);
    let columns = length(window.Left, window.Right).unwrap_or(0);
    Ok((columns, length(window.Top, window.Bottom).unwrap_or(0)))
}

/// Reads what was typed, in units of UTF-16. Waits for some.
pub(super) fn read_console(of: &impl AsHandle, units: &mut [u16]) -> io::Result<usize> {
    let mut count = 0;
    let (to, most) = (units.as_mut_ptr().cast(), units.len() as u32);
    // SAFETY: the system writes at most as many units as it is told that there are.
    checked(unsafe { ReadConsoleW(raw(of), to, most, &raw mut count, null()) })?;
    Ok(count as usize)
}

/// Drops all that was typed and not read.
pub(super) fn drop_console_input(of: &impl AsHandle) -> io::Result<()> {
    // SAFETY: the handle is borrowed for the call.
    checked(unsafe { FlushConsoleInputBuffer(raw(of)) })
}

/// Whether a pressed key waits in a console.
pub(super) fn has_key(of: &impl AsHandle) -> io::Result<bool> {
    let mut records = [INPUT_RECORD::default(); RECORDS];
    let mut count = 0;
    let to = records.as_mut_ptr();
    // SAFETY: the system writes at most as many records as it is told that there are.
    checked(unsafe { PeekConsoleInputW(raw(of), to, RECORDS as u32, &raw mut count) })?;
    let is_key = |record: &INPUT_RECORD| {
        u32::from(record.EventType) == KEY_EVENT
            // SAFETY: a record of this type has this member.
            && unsafe { record.Event.KeyEvent.bKeyDown } != 0
    };
    Ok(records[..count as usize].iter().any(is_key))
}

/// Takes the events out that wait at the head of a console and are no pressed keys.
pub(super) fn drop_other_events(of: &impl AsHandle) -> io::Result<()> {
    while !has_key(of)? {
        let mut record = INPUT_RECORD::default();
        let (mut waiting, mut count) = (0, 0);
        // SAFETY: the handle is borrowed for the call.
        checked(unsafe { GetNumberOfConsoleInputEvents(raw(of), &raw mut waiting) })?;
        if waiting == 0 {
            return Ok(());
        }
        // SAFETY: the system writes one record at most.
        checked(unsafe { ReadConsoleInputW(raw(of), &raw mut record, 1, &raw mut count) })?;
    }
    Ok(())
}

/// Writes UTF-8 to a console, and returns how many bytes of it that were. A piece that ends amid a character is shown as
/// far as it is whole, unless nothing is.
pub(super) fn write_console(to: &impl AsHandle, bytes: &[u8]) -> io::Result<usize> {
    let bytes = &bytes[..bytes.len().min(WRITTEN)];
    let (text, length) = match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), bytes.len()),
        Err(error) => match error.valid_up_to() {
            0 => {
                let length = error.error_len().unwrap_or(bytes.len());
                ("\u{fffd}".to_owned(), length)
            }
            whole => (String::from_utf8_lossy(&bytes[..whole]).into_owned(), whole),
        },
    };
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut at = 0;
    while at < units.len() {
        let mut count = 0;
        let (from, most) = (units[at..].as_ptr(), (units.len() - at) as u32);
        // SAFETY: as many units are there as the system is told.
        checked(unsafe { WriteConsoleW(raw(to), from.cast(), most, &raw mut count, null()) })?;
        at += count as usize;
    }
    Ok(length)
}

/// The way in which a file is locked.
#[derive(Clone, Copy, Debug)]
pub(super) struct LockWish {
    pub(super) alone: bool,
    pub(super) waits: bool,
}

/// The place of the byte that is locked: behind what any file has.
fn far_byte() -> OVERLAPPED {
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.OffsetHigh = 0x4000_0000;
    place
}

/// Locks a byte far behind the end of a file.
pub(super) fn lock_byte(file: &File, wish: LockWish) -> io::Result<()> {
    let mut place = far_byte();
    let alone = if wish.alone {
        LOCKFILE_EXCLUSIVE_LOCK
    } else {
        0
    };
    let waits = if wish.waits {
        0
    } else {
        LOCKFILE_FAIL_IMMEDIATELY
    };
    // SAFETY: the file was not opened for overlapped use, so that the call has ended when it returns.
    checked(unsafe { LockFileEx(raw(file), alone | waits, 0, 1, 0, &raw mut place) })
}

/// Takes that lock back.
pub(super) fn unlock_byte(file: &File) {
    let mut place = far_byte();
    // SAFETY: as above.
    unsafe { UnlockFileEx(raw(file), 0, 1, 0, &raw mut place) };
}

/// An event that another thread sets, and that is waited for.
pub(super) fn event() -> io::Result<OwnedHandle> {
    // SAFETY: neither attributes nor a name are needed.
    owned(unsafe { CreateEventW(null(), 1, 0, null()) })
}

/// Sets an event.
pub(super) fn set_event(event: &OwnedHandle) {
    // SAFETY: the handle is open.
    unsafe { SetEvent(raw(event)) };
}

/// Takes an event back.
pub(super) fn reset_event(event: &OwnedHandle) {
    // SAFETY: as above.
    unsafe { ResetEvent(raw(event)) };
}

/// Waits for one of these, so many milliseconds at most. Returns the index of the first that is there, or none where the
/// time is up.
pub(super) fn wait_for_any(
    handles: &[BorrowedHandle<'_>],
    milliseconds: Option<u32>,
) -> io::Result<Option<usize>> {
    let handles: Vec<HANDLE> = handles.iter().map(raw).collect();
    let time = milliseconds.unwrap_or(INFINITE);
    // SAFETY: the handles are borrowed for the call, and their number is told.
    let woken = unsafe { WaitForMultipleObjects(handles.len() as u32, handles.as_ptr(), 0, time) };
    match woken {
        WAIT_TIMEOUT => Ok(None),
        woken => {
            let index = woken.wrapping_sub(WAIT_OBJECT_0) as usize;
            match index < handles.len() {
                true => Ok(Some(index)),
                false => Err(io::Error::last_os_error()),
            }
        }
    }
}

/// Opens a process to wait for its end.
pub(super) fn open_process(id: u32) -> io::Result<OwnedHandle> {
    // SAFETY: any number may be asked for.
    owned(unsafe { OpenProcess(PROCESS_SYNCHRONIZE, 0, id) })
}

/// Waits until a process has ended.
pub(super) fn wait_for_process(process: &OwnedHandle) {
    // SAFETY: the handle is open.
    unsafe { WaitForSingleObject(raw(process), INFINITE) };
}

/// Ends a process.
pub(super) fn end_process(process: BorrowedHandle<'_>) -> io::Result<()> {
    // SAFETY: the handle is borrowed for the call.
    checked(unsafe { TerminateProcess(raw(&process), 1) })
}

/// Shows no window and writes no report when this process crashes.
pub(super) fn crash_quietly() {
    // SAFETY: any set of flags may be given.
    unsafe {
        SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX)
    };
}

/// A job whose processes end with its last handle.
pub(super) fn job() -> io::Result<OwnedHandle> {
    // SAFETY: neither attributes nor a name are needed.
    let job = owned(unsafe { CreateJobObjectW(null(), null()) })?;
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    let size = size_of_val(&limits) as u32;
    let from = (&raw const limits).cast();
    // SAFETY: the struct belongs to this kind of limits, and its size is told.
    checked(unsafe {
        SetInformationJobObject(raw(&job), JobObjectExtendedLimitInformation, from, size)
    })?;
    Ok(job)
}

/// Puts a process into a job.
pub(super) fn put_into_job(job: &OwnedHandle, process: BorrowedHandle<'_>) -> io::Result<()> {
    // SAFETY: both are open.
    checked(unsafe { AssignProcessToJobObject(raw(job), raw(&process)) })
}

/// The number of processes that run in a job.
pub(super) fn processes_in(job: &OwnedHandle) -> io::Result<u32> {
    let mut answer = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
    let size = size_of_val(&answer) as u32;
    let to = (&raw mut answer).cast();
    // SAFETY: the struct belongs to this kind of information, and its size is told.
    checked(unsafe {
        QueryInformationJobObject(
            raw(job),
            JobObjectBasicAccountingInformation,
            to,
            size,
            null_mut(),
        )
    })?;
    Ok(answer.ActiveProcesses)
}

/// Ends all processes of a job.
pub(super) fn end_job(job: &OwnedHandle) {
    // SAFETY: the handle is open.
    unsafe { TerminateJobObject(raw(job), 1) };
}

/// Lets a process begin that was started without running.
pub(super) fn resume(id: u32) -> io::Result<()> {
    // SAFETY: threads of all processes are listed whatever the number is.
    let list = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })?;
    let mut thread = THREADENTRY32 {
        dwSize: size_of::<THREADENTRY32>() as u32,
        ..Default::default()
    };
    let mut resumed = false;
    // SAFETY: the struct tells its size.
    let mut is_one = unsafe { Thread32First(raw(&list), &raw mut thread) } != 0;
    while is_one {
        if thread.th32OwnerProcessID == id {
            // SAFETY: any number may be asked for.
            let own = owned(unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, thread.th32ThreadID) })?;
            // SAFETY: the handle is open.
            resumed |= unsafe { ResumeThread(raw(&own)) } != u32::MAX;
        }
        // SAFETY: as above.
        is_one = unsafe { Thread32Next(raw(&list), &raw mut thread) } != 0;
    }
    match resumed {
        true => Ok(()),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}
