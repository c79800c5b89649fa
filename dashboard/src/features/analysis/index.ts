export { analysisFor, analysisForFeedback } from "./choose";
export { Feedback } from "./Feedback";
