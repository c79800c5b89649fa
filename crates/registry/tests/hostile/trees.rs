//! Repositories whose content is the attack.

use crate::TestReader;
use crate::git_server::{GitServer, Repository};

const TAG: &str = "roll-out/v9.0.0";

/// Publishes a folder with `step.yaml` and these lines of `git mktree`, and returns why it is refused.
async fn refusal(make: impl FnOnce(&Repository) -> String) -> String {
    let repository = Repository::with_step();
    let manifest = repository.blob(b"name: roll-out\n");
    let lines = make(&repository);
    let tree = repository.tree(&format!("100644 blob {manifest}\tstep.yaml\n{lines}"));
    repository.publish_tree(&tree);
    let server = GitServer::start(&repository).await;
    TestReader::new().refusal(&server.url, TAG).await
}

#[tokio::test]
async fn links_and_submodules_are_refused() {
    let link = refusal(|repository| format!("120000 blob {}\tlink\n", repository.blob(b"/etc/passwd"))).await;
    assert!(link.contains("`link`: it is a symbolic link"), "{link}");
    let submodule =
        refusal(|repository| format!("160000 commit {}\tmodule\n", repository.git(&["rev-parse", "HEAD"])))
            .await;
    assert!(submodule.contains("`module`: it is a submodule"), "{submodule}");
}

#[tokio::test]
async fn paths_that_leave_the_folder_are_refused() {
    for (name, check) in [("..", "hasDotdot"), (".", "hasDot"), (".git", "hasDotgit"), (".GIT", "hasDotgit")]
    {
        let refused = refusal(|repository| {
            let file = repository.blob(b"x");
            let tree = repository.tree(&format!("100644 blob {file}\tx\n"));
            format!("040000 tree {tree}\t{name}\n")
        })
        .await;
        assert!(refused.contains(check), "{name}: {refused}");
    }
    let control = refusal(|repository| format!("100644 blob {}\ta\\b\n", repository.blob(b"x"))).await;
    assert!(control.contains("plain relative path"), "{control}");
}

#[tokio::test]
async fn the_number_of_files_is_bounded() {
    let refused = refusal(|repository| {
        let file = repository.blob(b"x");
        (0..256).map(|number| format!("100644 blob {file}\tfile-{number}\n")).collect()
    })
    .await;
    assert!(refused.contains("more than 256 files"), "{refused}");
}

#[tokio::test]
async fn the_size_of_the_files_is_bounded() {
    let refused = refusal(|repository| {
        let file = repository.blob(&vec![0; 3 << 20]);
        (0..3).map(|number| format!("100644 blob {file}\tfile-{number}\n")).collect()
    })
    .await;
    assert!(refused.contains("more than 8388608 bytes"), "{refused}");
}

/// A quarter of a gibibyte of zeros is a quarter of a mebibyte when it is compressed.
#[tokio::test]
async fn a_file_that_is_small_until_it_is_unpacked_is_refused() {
    let refused = refusal(|repository| {
        let file = repository.path().join("zeros");
        std::fs::File::create(&file).unwrap().set_len(256 << 20).unwrap();
        let blob = repository.git(&["hash-object", "-w", "zeros"]);
        std::fs::remove_file(file).unwrap();
        format!("100644 blob {blob}\tzeros\n")
    })
    .await;
    assert!(refused.contains("more than 8388608 bytes"), "{refused}");
}

/// Ten folders with ten folders each, and so on: ten thousand million files in eleven objects.
#[tokio::test]
async fn folders_that_contain_each_other_are_refused() {
    let refused = refusal(|repository| {
        let mut entry = format!("100644 blob {}", repository.blob(b"x"));
        for _ in 0..10 {
            let lines: String = (0..10).map(|number| format!("{entry}\tf{number}\n")).collect();
            entry = format!("040000 tree {}", repository.tree(&lines));
        }
        format!("{entry}\tmany\n")
    })
    .await;
    assert!(refused.contains("more than 256 files"), "{refused}");
}

#[tokio::test]
async fn very_deep_folders_are_refused() {
    let refused = refusal(|repository| {
        let mut entry = format!("100644 blob {}", repository.blob(b"x"));
        for _ in 0..100 {
            entry = format!("040000 tree {}", repository.tree(&format!("{entry}\td\n")));
        }
        format!("{entry}\tdeep\n")
    })
    .await;
    assert!(refused.contains("too large to be read") || refused.contains("git ended"), "{refused}");
}
