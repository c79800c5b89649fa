export { PipelineSettings } from "./PipelineSettings";
