//! Reads the one plain command of a line for a shell of another kind than `sh`: PowerShell or `cmd`.
//!
//! Only what each of them takes for a program and its words, letter by letter, is read. Anything else may start whatever it
//! likes, as far as rules can tell: a quote, a variable, a sign, a second line, an alias of PowerShell, a command of its own.

/// The command of a line, if it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SingleCommand {
    /// The program, without its folder and the end of its name, and its arguments.
    pub(super) words: Vec<String>,
    /// Whether the program is known to be a file of this name, and to start no other for all that its words tell.
    pub(super) is_known: bool,
}

/// Ends of names of programs, which a shell does not need.
const ENDS: [&str; 4] = [".com", ".exe", ".bat", ".cmd"];

/// Words that are commands of a shell, or that such a shell takes for one of its own, and programs that start others.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    // Aliases of PowerShell
    "ac", "cat", "cd", "chdir", "clc", "clear", "clhy", "cli", "clp", "cls", "clv", "cnsn", "compare", "copy", "cp", "cpi",
    "cpp", "curl", "cvpa", "dbp", "del", "diff", "dir", "dnsn", "ebp", "echo", "epal", "epcsv", "epsn", "erase", "etsn",
    "exsn", "fc", "fhx", "fl", "foreach", "ft", "fw", "gal", "gbp", "gc", "gci", "gcm", "gcs", "gdr", "ghy", "gi", "gjb",
    "gl", "gm", "gmo", "gp", "gps", "gpv", "group", "gsn", "gsnp", "gsv", "gu", "gv", "gwmi", "h", "history", "icm", "iex",
    "ihy", "ii", "ipal", "ipcsv", "ipmo", "ipsn", "irm", "ise", "iwmi", "iwr", "kill", "lp", "ls", "man", "md", "measure",
    "mi", "mkdir", "mount", "move", "mp", "mv", "nal", "ndr", "ni", "nmo", "npssc", "nsn", "nv", "ogv", "oh", "popd",
    "ps", "pushd", "pwd", "r", "rbp", "rcjb", "rcsn", "rd", "rdr", "ren", "ri", "rjb", "rm", "rmdir", "rmo", "rni", "rnp",
    "rp", "rsn", "rsnp", "rujb", "rv", "rvpa", "rwmi", "sajb", "sal", "saps", "sasv", "sbp", "sc", "select", "set", "shcm",
    "si", "sl", "sleep", "sls", "sort", "sp", "spjb", "spps", "spsv", "start", "sujb", "sv", "swmi", "tee", "trcm", "type",
    "wget", "where", "wjb", "write",
    // Words of PowerShell, and of cmd
    "assoc", "begin", "break", "call", "catch", "class", "color", "continue", "data", "date", "do", "dynamicparam", "else",
    "elseif", "end", "endlocal", "enum", "exit", "filter", "finally", "for", "from", "ftype", "function", "goto", "help",
    "if", "in", "inlinescript", "mklink", "parallel", "param", "path", "pause", "process", "prompt", "rem", "rename",
    "return", "sequence", "setlocal", "shift", "switch", "throw", "time", "title", "trap", "try", "until", "using", "var",
    "ver", "verify", "vol", "while", "workflow",
    // Programs that start others
    "bash", "cmd", "conhost", "cscript", "env", "explorer", "forfiles", "mshta", "msiexec", "nohup", "npx", "powershell",
    "psexec", "pwsh", "regsvr32", "rundll32", "runas", "schtasks", "sh", "sudo", "timeout", "winget", "wmic", "wscript",
    "wsl", "wt", "xargs",
];

/// The plain command that a line is. None if it is another line.
pub(super) fn command(line: &str) -> Option<SingleCommand> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _-./\\:=+".contains(c);
    // With a dash or a slash at its begin a word may be many things, but no program.
    let is_program = |word: &str| word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
    if !line.chars().all(is_plain) {
        return None;
    }
    let words: Vec<String> = line
        .split(' ')
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect();
    let (program, arguments) = words.split_first().filter(|(it, _)| is_program(it))?;
    let is_path = program.contains(['/', '\\']);
    let name = program
        .rsplit(['/', '\\', ':'])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let stem = ENDS.iter().find_map(|end| name.strip_suffix(end));
    let has_end = stem.is_some();
    let stem = stem.unwrap_or(&name).to_owned();
    // `Remove-Item` is a command of PowerShell's own, and `a.ps1` a script; `git.exe` is a file.
    let is_known = has_end || (!stem.contains(['-', '.', '+', '=']) && !is_path);
    let is_other = OTHERS.contains(&stem.as_str()) || stem.is_empty() || is_number(&stem);
    let words = std::iter::once(stem)
        .chain(arguments.iter().cloned())
        .collect();
    Some(SingleCommand {
        words,
        is_known: is_known && !is_other,
    })
}

/// Whether PowerShell takes a word for a number.
fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_command_is_read() {
        let read = |line: &str| match command(line) {
            None => "-".to_owned(),
            Some(read) => {
                let known = if read.is_known { "" } else { "? " };
                format!("{known}{}", read.words.join("|"))
            }
        };
        for (line, expected) in [
            ("git status", "git|status"),
            ("git  status ", "git|status"),
            ("GIT.EXE status", "git|status"),
            ("Git push --force", "git|push|--force"),
            (r"cargo test -p a\b", r"cargo|test|-p|a\b"),
            ("npm run test:unit", "npm|run|test:unit"),
            ("npm.cmd run x", "npm|run|x"),
            (r"C:\tools\git.exe push", "git|push"),
            (r".\run.bat now", "run|now"),
            // Whatever they start, nobody knows.
            (r".\run now", "? run|now"),
            ("./script.ps1", "? script.ps1"),
            ("rm x", "? rm|x"),
            ("RM x", "? rm|x"),
            ("del x", "? del|x"),
            ("Remove-Item x", "? remove-item|x"),
            ("iex x", "? iex|x"),
            ("cmd /c del x", "? cmd|/c|del|x"),
            ("powershell.exe -c x", "? powershell|-c|x"),
            ("start git push", "? start|git|push"),
            ("docker-compose up", "? docker-compose|up"),
            ("7z x a", "? 7z|x|a"),
            // Those are no plain commands.
            ("", "-"),
            (" ", "-"),
            ("git status; rm x", "-"),
            ("git status & rm x", "-"),
            ("git status && rm x", "-"),
            ("git status | more", "-"),
            ("git log > x", "-"),
            ("git log\nrm x", "-"),
            ("git log\rrm x", "-"),
            ("git log\trm x", "-"),
            ("git commit -m 'a'", "-"),
            ("git commit -m \"a\"", "-"),
            ("git %x%", "-"),
            ("git $x", "-"),
            ("git $(rm x)", "-"),
            ("git `rm", "-"),
            ("git ^push", "-"),
            ("git @args", "-"),
            ("git #x", "-"),
            ("git a,b", "-"),
            ("git {x}", "-"),
            ("git !x!", "-"),
            ("git ~", "-"),
            ("git *", "-"),
            ("& git push", "-"),
            (". x", "? .|x"),
            ("-git", "-"),
            ("/git", "-"),
            ("git\u{a0}push", "-"),
            ("g\u{456}t push", "-"),
        ] {
            assert_eq!(read(line), expected, "{line:?}");
        }
    }
}
