//! Names: finding what they stand for, changing them, and what of the changes is durable.

use super::fault::errno;
use super::world::{Inode, World};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path};

/// The root directory's inode.
pub(super) const ROOT: u64 = 0;

/// A directory: inodes by name, now and on the device.
#[derive(Debug, Default)]
pub(super) struct Directory {
    pub(super) names: BTreeMap<String, u64>,
    pub(super) durable: BTreeMap<String, u64>,
}

/// A change of names that survives a loss of power as a whole or not at all.
#[derive(Debug)]
pub(super) struct NameChange {
    /// The directory whose sync makes it durable.
    synced_by: u64,
    /// Each name, with its directory and what it stands for from now on.
    names: Vec<(u64, String, Option<u64>)>,
}

/// The names on a path from the root, `.` and `..` resolved.
fn components(path: &Path) -> io::Result<Vec<&str>> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_str().ok_or_else(|| errno(Errno::INVAL))?),
            Component::ParentDir => {
                names.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Ok(names)
}

/// A path as it is shown in traces.
pub(super) fn shown(path: &Path) -> String {
    match components(path) {
        Ok(names) if names.is_empty() => "/".to_owned(),
        Ok(names) => names.join("/"),
        Err(_) => path.display().to_string(),
    }
}

impl World {
    pub(super) fn directory(&self, inode: u64) -> io::Result<&Directory> {
        match self.inodes.get(&inode) {
            Some(Inode::Directory(directory)) => Ok(directory),
            Some(Inode::File { .. }) => Err(errno(Errno::NOTDIR)),
            None => Err(errno(Errno::NOENT)),
        }
    }

    fn walk(&self, names: &[&str]) -> io::Result<u64> {
        names.iter().try_fold(ROOT, |at, name| {
            self.directory(at)?.names.get(*name).copied().ok_or_else(|| errno(Errno::NOENT))
        })
    }

    pub(super) fn resolve(&self, path: &Path) -> io::Result<u64> {
        self.walk(&components(path)?)
    }

    /// The directory of a path, its last name, and what has that name.
    pub(super) fn resolve_name(&self, path: &Path) -> io::Result<(u64, String, Option<u64>)> {
        let names = components(path)?;
        let (name, parents) = names.split_last().ok_or_else(|| errno(Errno::INVAL))?;
        let parent = self.walk(parents)?;
        let found = self.directory(parent)?.names.get(*name).copied();
        Ok((parent, (*name).to_owned(), found))
    }

    pub(super) fn create_dir_all(&mut self, path: &Path) -> io::Result<()> {
        let names = components(path)?;
        let mut at = ROOT;
        for (depth, name) in names.iter().enumerate() {
            at = match self.directory(at)?.names.get(*name) {
                Some(found) => *found,
                None if self.limits.read_only => return Err(errno(Errno::ROFS)),
                None => {
                    let made = self.new_inode(Inode::Directory(Directory::default()));
                    self.change_names(at, vec![(at, (*name).to_owned(), Some(made))]);
                    made
                }
            };
            if depth + 1 == names.len() && self.directory(at).is_err() {
                return Err(errno(Errno::EXIST));
            }
        }
        Ok(())
    }

    /// Changes names at once, durably only with a sync of `synced_by`.
    pub(super) fn change_names(&mut self, synced_by: u64, names: Vec<(u64, String, Option<u64>)>) {
        for (directory, name, to) in &names {
            self.has_changed(*directory);
            let before = match self.inodes.get_mut(directory) {
                Some(Inode::Directory(d)) => match to {
                    Some(to) => d.names.insert(name.clone(), *to),
                    None => d.names.remove(name),
                },
                _ => None,
            };
            self.count_links(before, |links| links.saturating_sub(1));
            self.count_links(*to, |links| links + 1);
        }
        self.pending.push(NameChange { synced_by, names });
        self.forget_unreachable();
    }

    fn count_links(&mut self, inode: Option<u64>, count: impl Fn(usize) -> usize) {
        if let Some(Inode::File { links, .. }) = inode.and_then(|id| self.inodes.get_mut(&id)) {
            *links = count(*links);
        }
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let (from_dir, from_name, source) = self.resolve_name(from)?;
        let source = source.ok_or_else(|| errno(Errno::NOENT))?;
        let (to_dir, to_name, target) = self.resolve_name(to)?;
        if target == Some(source) {
            return Ok(()); // two names of one file both stay, as POSIX has it
        }
        let moves_directory = self.directory(source).is_ok();
        if moves_directory && components(to)?.starts_with(&components(from)?) {
            return Err(errno(Errno::INVAL));
        }
        match target.map(|target| self.directory(target)) {
            Some(Ok(_)) if !moves_directory => return Err(errno(Errno::ISDIR)),
            Some(Ok(directory)) if !directory.names.is_empty() => return Err(errno(Errno::NOTEMPTY)),
            Some(Err(_)) if moves_directory => return Err(errno(Errno::NOTDIR)),
            _ => {}
        }
        self.change_names(to_dir, vec![(from_dir, from_name, None), (to_dir, to_name, Some(source))]);
        Ok(())
    }

    /// Makes the changes that wait for this directory durable.
    pub(super) fn sync_directory(&mut self, directory: u64) {
        let (synced, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.pending)
            .into_iter()
            .enumerate()
            .partition(|(_, change)| change.synced_by == directory);
        self.pending = Vec::with_capacity(rest.len());
        for (position, mut change) in rest {
            // A name that a later, now durable change decided is no longer this one's to change.
            change.names.retain(|(dir, name, _)| {
                let later = synced.iter().filter(|(at, _)| *at > position).flat_map(|(_, c)| &c.names);
                !later.into_iter().any(|(d, n, _)| d == dir && n == name)
            });
            self.pending.push(change);
        }
        for (_, change) in synced {
            self.make_durable(change);
        }
        self.forget_unreachable();
    }

    fn make_durable(&mut self, change: NameChange) {
        for (directory, name, to) in change.names {
            if let Some(Inode::Directory(d)) = self.inodes.get_mut(&directory) {
                match to {
                    Some(to) => d.durable.insert(name, to),
                    None => d.durable.remove(&name),
                };
            }
        }
    }

    /// Decides every change of names that is not durable, and makes the survivors what there is.
    pub(super) fn lose_power_over_names(&mut self, keep_percent: u8) {
        for change in std::mem::take(&mut self.pending) {
            if self.dice.percent(keep_percent) {
                self.make_durable(change);
            }
        }
        for inode in self.inodes.values_mut() {
            match inode {
                Inode::Directory(d) => d.names = d.durable.clone(),
                Inode::File { links, .. } => *links = 0,
            }
        }
        let reachable = self.reachable();
        self.inodes.retain(|id, _| reachable.contains(id));
        let directories = self.inodes.values().filter_map(|inode| match inode {
            Inode::Directory(d) => Some(d.names.values().copied()),
            Inode::File { .. } => None,
        });
        let linked: Vec<u64> = directories.flatten().collect();
        for inode in linked {
            self.count_links(Some(inode), |links| links + 1);
        }
    }

    /// What can be reached by a name now, by a durable one, or by one that may yet become durable.
    fn reachable(&self) -> BTreeSet<u64> {
        let mut reachable = BTreeSet::new();
        let pending = self.pending.iter().flat_map(|change| &change.names);
        let mut to_visit: Vec<u64> = pending.filter_map(|(_, _, to)| *to).chain([ROOT]).collect();
        while let Some(inode) = to_visit.pop() {
            if !reachable.insert(inode) {
                continue;
            }
            if let Ok(directory) = self.directory(inode) {
                to_visit.extend(directory.names.values().chain(directory.durable.values()));
            }
        }
        reachable
    }

    /// Frees the files that have no name and that nobody has open.
    pub(super) fn forget_unreachable(&mut self) {
        let unnamed = self.inodes.values().any(|inode| matches!(inode, Inode::File { links: 0, .. }));
        if !unnamed {
            return;
        }
        let mut kept = self.reachable();
        kept.extend(self.handles.values().map(|(_, inode)| *inode));
        self.inodes.retain(|id, _| kept.contains(id));
    }

    /// The paths of all files, sorted.
    pub(super) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut to_visit = vec![(String::new(), ROOT)];
        while let Some((path, inode)) = to_visit.pop() {
            match self.directory(inode) {
                Ok(directory) => to_visit.extend(directory.names.iter().map(|(name, id)| {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                    (path, *id)
                })),
                Err(_) => files.push(path),
            }
        }
        files.sort_unstable();
        files
    }
}
