// Signing in with a browser. The session is a cookie that scripts can't read; nothing of it is stored here.
import { queryOptions } from "@tanstack/react-query";
import { api, unwrapData } from "./client";
import { keys } from "./keys";

export const signInMethodsQuery = queryOptions({
  queryKey: ["sign-in-methods"],
  queryFn: ({ signal }) => unwrapData(api.GET("/auth/methods", { signal })),
});

/** Sign-in is never repeated by itself: each attempt counts. */
export const signInWithPassword = (body: { email: string; password: string }) =>
  unwrapData(api.POST("/auth/password", { body }));

export const signInWithLink = (code: string) => unwrapData(api.POST("/auth/link", { body: { code } }));

/** Creates the first organization, and signs its owner in. Never repeated by itself: the code works once. */
export const setUp = (body: {
  code: string;
  organizationName: string;
  organizationSlug: string;
  name: string;
  email: string;
}) => unwrapData(api.POST("/auth/setup", { body }));

export const signOut = () => unwrapData(api.POST("/auth/sign-out"));

/** The current password is required if the person has one. All other browsers are signed out. */
export const setPassword = (body: { currentPassword?: string; newPassword: string }) =>
  unwrapData(api.PUT("/me/password", { body }));

export const browserSessionsQuery = queryOptions({
  queryKey: keys.browserSessions,
  queryFn: ({ signal }) => unwrapData(api.GET("/me/browser-sessions", { signal })),
});

/** Ends one session, or all but the one that sends the request. */
export const endBrowserSessions = (sessionId?: string) =>
  unwrapData(api.DELETE("/me/browser-sessions", { params: { query: sessionId ? { sessionId } : { all: true } } }));
