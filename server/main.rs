//! `aside`: chooses a front end.

use aside::tool::supervisor;

fn main() {
    let mut args = std::env::args_os().skip(1);
    if args
        .next()
        .is_some_and(|first| first == supervisor::ARGUMENT)
    {
        supervisor::child_main(args);
    }
}
