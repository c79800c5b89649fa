//! The folder in which comparisons build and keep programs. One process at a time builds there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Context;

use super::build::{self, Build, Step};
use super::source::Tree;
use crate::{output, processor_time, workspace};

/// How many trees' programs are kept: those that were used last.
const KEPT_TREES: usize = 8;
/// A file in the folder of a tree. It is written at each use.
const LAST_USE: &str = "last_use";

/// All sources are built in one folder, with one target folder, which keeps the compiled dependencies. The lock is held
/// until this is dropped.
pub(super) struct ProgramCache {
    root: PathBuf,
    folder: PathBuf,
    /// Where programs of the current compiler are kept.
    programs: PathBuf,
    /// The id of the tree in the folder of sources, and its build.
    current: Option<(String, Build)>,
    _lock: File,
}

impl ProgramCache {
    /// Waits for the end of another process that uses the folder.
    pub(super) fn open(root: &Path, folder: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let folder = folder.canonicalize()?;
        let lock = File::create(folder.join("lock")).context("the lock file cannot be created")?;
        if lock.try_lock().is_err() {
            output::progress(format_args!("waiting for another comparison to build"));
            lock.lock().context("the folder cannot be locked")?;
        }
        // What a process that was killed has left.
        let removed = folder.join("removed");
        if removed.exists() {
            fs::remove_dir_all(&removed)?;
        }
        for file in ["index", "index.lock"].map(|name| folder.join(name)).iter().filter(|file| file.exists())
        {
            fs::remove_file(file)?;
        }
        let version = workspace::output(Command::new("rustc").arg("--version").current_dir(root))?;
        let version = version.split_whitespace().nth(1).context("rustc has printed no version")?;
        let programs = folder.join("programs").join(version);
        Ok(Self { root: root.to_owned(), folder, programs, current: None, _lock: lock })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns a folder with the programs of a tree, which is complete if it exists. Builds them if it does not.
    pub(super) fn find_or_build(
        &mut self,
        tree: &Tree,
        name: &str,
        steps: &[Step<'_>],
    ) -> anyhow::Result<PathBuf> {
        let kept = self.programs.join(tree.id()).join(name);
        if kept.is_dir() {
            output::progress(format_args!("built before: {}", kept.display()));
            self.mark_used(tree)?;
            return Ok(kept);
        }
        let partial = kept.with_extension("partial");
        if partial.exists() {
            fs::remove_dir_all(&partial)?;
        }
        fs::create_dir_all(&partial)?;
        let (source, target) = (self.folder.join("source"), self.folder.join("target"));
        let (began, cpu) = (Instant::now(), processor_time::of_children()?);
        let build = self.prepare(tree, &source, &target)?;
        for step in steps {
            let names = step.programs.join(", ");
            output::progress(format_args!("building {names} of {}", tree.id()));
            for (name, program) in step.programs.iter().zip(build.run_step(step, &source, &target)?) {
                fs::copy(&program, partial.join(name))
                    .with_context(|| format!("{} was not built", program.display()))?;
            }
        }
        output::progress(format_args!(
            "compiled until now: {} units of the workspace, {} of its dependencies; these programs took {:.0} s, and {:.0} s of \
             processor time",
            build.own_units,
            build.other_units,
            began.elapsed().as_secs_f64(),
            processor_time::of_children()?.saturating_sub(cpu).as_secs_f64()
        ));
        fs::rename(&partial, &kept).with_context(|| format!("cannot make {}", kept.display()))?;
        self.mark_used(tree)?;
        Ok(kept)
    }

    /// Makes this the tree that was used last, and removes the programs of those that were used long ago.
    fn mark_used(&self, tree: &Tree) -> anyhow::Result<()> {
        fs::write(self.programs.join(tree.id()).join(LAST_USE), "")?;
        let mut trees = Vec::new();
        for entry in fs::read_dir(&self.programs)? {
            let folder = entry?.path();
            trees.push((fs::metadata(folder.join(LAST_USE)).and_then(|file| file.modified()).ok(), folder));
        }
        trees.sort_unstable();
        let surplus = trees.len().saturating_sub(KEPT_TREES);
        for (_, folder) in trees.into_iter().take(surplus) {
            // Renamed first, so that a folder is complete until it is gone.
            let removed = self.folder.join("removed");
            fs::rename(&folder, &removed).with_context(|| format!("cannot remove {}", folder.display()))?;
            fs::remove_dir_all(&removed)?;
        }
        Ok(())
    }

    /// Begins the build of a tree, unless it is the current one. Removes what was built of others first: it does not
    /// matter where an earlier process was stopped.
    fn prepare(&mut self, tree: &Tree, source: &Path, target: &Path) -> anyhow::Result<&mut Build> {
        if self.current.as_ref().is_none_or(|(id, _)| id != tree.id()) {
            self.current = None;
            tree.write(&self.root, &self.folder.join("index"), source)?;
            build::clean(source, target)?;
            self.current = Some((tree.id().to_owned(), Build::default()));
        }
        self.current.as_mut().map(|(_, build)| build).context("nothing is prepared")
    }
}
