export { PipelineList } from "./PipelineList";
export { useResume } from "./useResume";
