//! From a name to the path from the root that it means.

use std::path::{Component, Path, PathBuf};

use aside_base::{
    homes::home,
    system::{
        folders::canonical,
        names::{strange, with_slashes},
    },
};

use super::{
    PathError, Workspace,
    meant::{Meaningless, NameGround, meant},
};

impl Workspace {
    /// Converts a path for opening beneath the root.
    pub(super) fn inside(&self, path: &str) -> Result<PathBuf, PathError> {
        let outside = || PathError::Outside(path.to_owned());
        let home = home();
        let ground = NameGround {
            exists: &|path| {
                let is_strange = path.to_str().is_some_and(|path| strange(path).is_some());
                let beneath = self.beneath(path).filter(|_| !is_strange);
                beneath.is_some_and(|path| self.dir.symlink_metadata(path).is_ok())
            },
            root: &self.path,
            home: home.as_deref(),
        };
        let named = meant(path, &ground).map_err(|why| match why {
            Meaningless::Outside => outside(),
            Meaningless::Unlikely(why) => PathError::NoName {
                path: path.to_owned(),
                why,
            },
        })?;
        if let Some(why) = named.to_str().and_then(strange) {
            let path = path.to_owned();
            return Err(PathError::NoName { path, why });
        }
        let named = with_slashes(named);
        let inside = self.beneath(&named).ok_or_else(outside)?;
        // A leading `..` can only lead out; later ones are decided by the descriptor.
        if inside.components().next() == Some(Component::ParentDir) {
            return Err(outside());
        }
        let empty = inside.as_os_str().is_empty();
        Ok(if empty {
            PathBuf::from(".")
        } else {
            inside.to_owned()
        })
    }

    /// The path from the root of a relative or absolute one; none where an absolute one leads elsewhere.
    fn beneath<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        if !path.is_absolute() {
            return Some(path);
        }
        let stripped = path.strip_prefix(&self.path);
        let stripped = stripped.or_else(|_| path.strip_prefix(&self.given));
        stripped.ok().or_else(|| {
            // An editor may have reached the root by a link.
            let is_root = |above: &&Path| canonical(above).is_ok_and(|real| real == self.path);
            path.strip_prefix(path.ancestors().find(is_root)?).ok()
        })
    }
}
