export { openStream } from "./follow";
export { Live, useLamp } from "./Live";
export { startOfEvents } from "./start";
export { keepPlace } from "./presence";
export type { LampState } from "./status";
