export { Attempt } from "./Attempt";
export { analysisFor, analysisForFeedback } from "./choose";
export { ExplainButton } from "./ExplainButton";
export { explanationsOf } from "./explained";
export { Explanation } from "./Explanation";
export { Feedback } from "./Feedback";
