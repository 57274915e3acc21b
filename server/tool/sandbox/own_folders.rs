//! Aside's own folders, where a command could make them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use aside_base::system::folders::canonical;

/// Maximum number of links to what is missing.
const LINKS: usize = 40;

/// Makes the folders of Aside's own that lie where commands can write, so that no command can make them.
pub(super) fn make(all: &[PathBuf], is_writable: impl Fn(&Path) -> bool) {
    let is_own = |path: &Path| all.iter().any(|own| own == path);
    let is_in_another = |own: &Path| own.ancestors().skip(1).any(is_own);
    for own in all.iter().filter(|own| !is_in_another(own)) {
        // A link on the way there may lead to where commands can write.
        let led = led_to(own, LINKS);
        if is_writable(&led) && !led.exists() {
            // If this fails, the command cannot create it either.
            let _ = fs::create_dir_all(led);
        }
    }
}

/// The place to which a path leads, whether something is there or not, by so many links at most.
fn led_to(path: &Path, links: usize) -> PathBuf {
    if let Ok(real) = canonical(path) {
        return real;
    }
    let Some((above, name)) = path.parent().zip(path.file_name()) else {
        return path.to_owned();
    };
    match fs::read_link(path).ok().zip(links.checked_sub(1)) {
        Some((target, left)) => led_to(&above.join(target), left),
        None => led_to(above, links).join(name),
    }
}
