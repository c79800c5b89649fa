// The dialogs of tokens, each loaded when it is opened.
import { lazily } from "@/lib/lazily";

export const NewTokenDialog = lazily(() => import("./NewTokenDialog"), "NewTokenDialog");
export const RevokeDialog = lazily(() => import("./RevokeDialog"), "RevokeDialog");
