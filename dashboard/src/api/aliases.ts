// An address may name a pipeline by its slug; events name it by its id. Each pipeline that is read is recorded
// here, so that an event finds the cached reads of both names.

const slugs = new Map<string, string>();

export function recordAlias(pipeline: { id: string; slug: string }): void {
  slugs.set(pipeline.id, pipeline.slug);
}

/** All names under which reads of the pipeline can be cached. */
export function namesOf(pipelineId: string): string[] {
  const slug = slugs.get(pipelineId);
  return slug === undefined ? [pipelineId] : [pipelineId, slug];
}
