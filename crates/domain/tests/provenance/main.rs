//! Every combination of what decides about the inputs of a job and about what it leaves, against an oracle that is written
//! from the documents: purpose, repository, environments and their protection, named and reported branch, restrictions of
//! pools, `acceptFrom`, and the rules of secrets.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod oracle;
mod product;
mod space;

use std::collections::HashMap;

use greenroom_domain::step::{FileMode, StepFile, content_digest};

use crate::product::{Pipeline, Restrictions};
use crate::space::{ACCEPTS, Accepts, Context, INPUTS, Lasting, MAKERS, Maker, for_each_context};

/// Purposes, repository, the stage's environment, another stage's, named and reported branch.
const CONTEXTS: usize = 3 * 2 * 7 * 4 * 4 * 4;

/// Calls it for every context, with its pipeline.
fn for_each_pipeline(accepts: Accepts, maker: Maker, mut check: impl FnMut(&Pipeline, &Context)) {
    let mut pipelines: HashMap<String, Pipeline> = HashMap::new();
    for_each_context(|context| {
        let environments: (Option<Lasting>, Option<Lasting>) = (context.target, context.elsewhere);
        let new = || Pipeline::new(environments, (accepts, maker));
        let pipeline = pipelines.entry(format!("{environments:?}")).or_insert_with(new);
        check(pipeline, &context);
    });
}

#[test]
fn a_checkout_proves_what_has_to_be_proven_and_a_report_claims_no_more() {
    let mut count = 0;
    for_each_pipeline(Accepts::Nothing, Maker::Build, |pipeline, context| {
        let required = pipeline.required(context);
        assert_eq!(required.is_some(), oracle::has_to_prove(context), "{context:?}");
        assert_eq!(pipeline.accepts_report(context), oracle::accepts_report(context), "{context:?}");
        let may_start = required.is_none() || pipeline.proven(context).is_some();
        assert_eq!(may_start, oracle::may_start_steps(context), "{context:?}");
        count += 1;
    });
    assert_eq!(count, CONTEXTS);
}

#[test]
fn a_job_leaves_only_what_its_origin_allows() {
    let mut count = 0;
    for_each_pipeline(Accepts::Nothing, Maker::Build, |pipeline, context| {
        assert_eq!(pipeline.writable_zone(context), oracle::writable_zone(context), "{context:?}");
        for maker in MAKERS {
            let expected = oracle::may_store_artifact(maker);
            assert_eq!(pipeline.may_store_artifact(maker), expected, "{maker:?} {context:?}");
            count += 1;
        }
    });
    assert_eq!(count, CONTEXTS * 3);
}

/// What a job gets does not depend on the branch that its runner reports, so that is left out of the combinations here: the
/// test above shows that the zones that it reads are the same.
#[test]
fn a_job_gets_artifacts_outputs_and_caches_of_what_is_trusted_as_much() {
    let pools: Vec<_> = space::pools().into_iter().map(|pools| (pools, Restrictions::of(pools))).collect();
    let (mut count, mut got) = (0_usize, 0_usize);
    for (accepts, maker) in space::pairs(&ACCEPTS, &MAKERS) {
        for_each_pipeline(accepts, maker, |pipeline, context| {
            let zones = pipeline.readable_zones(context);
            assert_eq!(zones, oracle::readable_zones(context), "{context:?}");
            if context.reported.is_some() {
                return;
            }
            for (pools, restrictions) in &pools {
                for input in INPUTS {
                    let expected = oracle::gets(context, (*pools, accepts), maker, input);
                    let found = pipeline.gets(&zones, restrictions, maker, input);
                    assert_eq!(
                        found, expected,
                        "{input:?} of {maker:?}, {accepts:?}, {pools:?}: {context:?}"
                    );
                    count += 1;
                    got += usize::from(found);
                }
            }
        });
    }
    assert_eq!(count, CONTEXTS / 4 * (9 * 9 + 9) * 3 * 3 * 5);
    assert!(got > count / 10 && got < count * 9 / 10, "{got} of {count}");
}

#[test]
fn a_step_gets_a_secret_only_by_what_was_proven() {
    let secrets: Vec<_> =
        space::secrets().into_iter().map(|secret| (secret, product::candidate(&secret))).collect();
    let mut count = 0;
    for_each_pipeline(Accepts::Nothing, Maker::Build, |pipeline, context| {
        for (secret, candidate) in &secrets {
            let expected = oracle::gets_secret(context, secret);
            assert_eq!(pipeline.gets_secret(context, candidate), expected, "{secret:?} {context:?}");
            count += 1;
        }
    });
    assert_eq!(count, CONTEXTS * 5 * 3 * 4 * 3 * 3);
}

/// The files of a step have the digest that is locked in the definition, or another one: nothing else decides.
#[test]
fn files_of_a_step_with_any_difference_have_another_digest() {
    let file = |path: &str, mode, text: &str| StepFile::new(path, mode, text.as_bytes());
    let step = || file("step.yaml", FileMode::Regular, "text");
    let locked = content_digest(&[step()]).unwrap();
    assert_eq!(content_digest(&[step()]).unwrap(), locked);
    for other in [
        vec![file("step.yaml", FileMode::Regular, "texT")],
        vec![file("step.yaml", FileMode::Executable, "text")],
        vec![file("step.yml", FileMode::Regular, "text")],
        vec![step(), file("run", FileMode::Regular, "")],
    ] {
        assert_ne!(content_digest(&other).ok().as_ref(), Some(&locked), "{other:?}");
    }
}
