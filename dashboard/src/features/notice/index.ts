export { endingOf } from "./ending";
export { FreeWatch } from "./FreeWatch";
export { MyNotices } from "./MyNotices";
export { toggleWatch, useIsWatched } from "./watch";
