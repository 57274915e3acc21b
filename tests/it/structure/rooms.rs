//! Import cycles in a crate, room by room.
//!
//! A room is a module with modules of its own. Its members are those modules, each with all that lies in it, and the
//! room's own file. A cycle of files shows as a cycle of members in exactly one room: the innermost that holds them all.
//! So a crate without cycles of members has no cycle of files, and none between rooms.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::imports::{Crate, Import, ModulePath};

/// The member of a room that stands for the room's own file.
pub(crate) const OWN: &str = "mod";

/// A member of a room that uses another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    /// The room, with `::` between its parts.
    pub(crate) room: String,
    pub(crate) from: String,
    pub(crate) to: String,
}

/// The arrows of a crate, each with the imports behind it.
pub(crate) type Arrows = BTreeMap<Arrow, Vec<Import>>;

impl fmt::Display for Arrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(\"{}\", \"{}\", \"{}\")", self.room, self.from, self.to)
    }
}

/// The arrows of all rooms, as the program has them without its tests.
pub(crate) fn arrows(of: &Crate) -> Arrows {
    let mut arrows = Arrows::new();
    for import in of.imports.iter().filter(|it| !it.test) {
        arrows
            .entry(arrow(import))
            .or_default()
            .push(import.clone());
    }
    arrows
}

fn arrow(import: &Import) -> Arrow {
    let (from, to) = (&import.from, &import.to);
    let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let member = |path: &ModulePath| path.get(shared).map_or(OWN, |it| it).to_owned();
    Arrow {
        room: from[..shared].join("::"),
        from: member(from),
        to: member(to),
    }
}

/// A shortest cycle among these arrows, if there is one.
pub(crate) fn cycle<'a>(arrows: impl Iterator<Item = &'a Arrow> + Clone) -> Option<Vec<&'a Arrow>> {
    let mut next: BTreeMap<(&str, &str), Vec<&Arrow>> = BTreeMap::new();
    for it in arrows.clone() {
        next.entry((&it.room, &it.from)).or_default().push(it);
    }
    let through = arrows.filter_map(|first| way(&next, first));
    through.min_by_key(Vec::len)
}

/// A shortest way that begins with this arrow and comes back to its beginning.
fn way<'a>(
    next: &BTreeMap<(&str, &str), Vec<&'a Arrow>>,
    first: &'a Arrow,
) -> Option<Vec<&'a Arrow>> {
    let mut seen = BTreeSet::from([first.to.as_str()]);
    let mut ways = vec![vec![first]];
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = way[way.len() - 1];
            if last.to == first.from {
                return Some(way);
            }
            for &arrow in next.get(&(&*last.room, &*last.to)).into_iter().flatten() {
                if seen.insert(&arrow.to) {
                    let mut way = way.clone();
                    way.push(arrow);
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    None
}
