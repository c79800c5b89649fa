// Signing in.
export const signIn = {
  title: "Sign in",
  motto: "Every environment has a door. See who is on.",
  email: "E-mail",
  password: "Password",
  submit: "Sign in",
  with: (provider: string) => `Sign in with ${provider}`,
  or: "or",
  failed: "That did not match.",
  refused:
    "You are not signed in. The provider has to have verified your e-mail address, and an organization has to have added it as a member. Ask an admin, or try again.",
  noMethod: "The operator has set up no way to sign in yet.",
  insecure:
    "Browsers keep the sign-in only on https, or on this computer itself. Ask the operator for an address with https.",
  welcome: "Welcome",
  welcomeText: "This link signs you in on this browser. It works once.",
  continue: "Continue",
  badLink: "The link was used already, or is older than 15 minutes. Ask for a new one.",
  noCode: "The link is not complete. Open it again from where you got it.",
  choosePassword: "Choose a password",
  choosePasswordText: "With it you can sign in again, also on other devices.",
  newPassword: "New password",
  passwordHint: "12 characters at least, and not easy to guess",
  save: "Save",
  later: "Later",
};
