export { openStream } from "./follow";
export { Live, useLamp } from "./Live";
export { keepPlace } from "./presence";
export type { LampState } from "./status";
