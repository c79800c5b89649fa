// A real OpenID provider, as an operator would configure it: with login form, consent, PKCE and signed tokens. It
// records what it receives, so that tests can compare it with what the server has sent.
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import { type Configuration, type KoaContextWithOIDC, Provider } from "oidc-provider";

/** One entry of the operator's file, which the server of the tests was started with. */
export type ProviderSettings = { id: string; name: string; issuer: string; clientId: string; clientSecret: string };

export type Account = { email?: string; email_verified?: boolean };

/** A request to one of the provider's endpoints. */
export type Received = { endpoint: string; parameters: Record<string, string>; cookie: string };

/** The file that GREENROOM_OIDC_PROVIDERS names. Empty: the server has no provider. */
export function configuredProviders(): ProviderSettings[] {
  const file = process.env.GREENROOM_OIDC_PROVIDERS;
  return file ? (JSON.parse(readFileSync(file, "utf8")) as ProviderSettings[]) : [];
}

export class OidcProvider {
  readonly settings: ProviderSettings;
  /** The accounts by their subject, which is also the name in the login form. */
  readonly accounts = new Map<string, Account>();
  readonly received: Received[] = [];
  #server: Server | undefined;

  constructor(settings: ProviderSettings) {
    this.settings = settings;
  }

  /** The parameters of the newest request to an endpoint. */
  newest(endpoint: string): Record<string, string> {
    const found = this.received.findLast((request) => request.endpoint === endpoint);
    if (!found) throw new Error(`the provider has received no request to ${endpoint}`);
    return found.parameters;
  }

  /** `isEmailInToken`: whether the address is part of the token, or has to be requested from `/me`. */
  async listen(dashboard: string, isEmailInToken: boolean): Promise<void> {
    const { id, issuer, clientId, clientSecret } = this.settings;
    // A new key each time, as after a rotation of keys.
    const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
    const configuration: Configuration = {
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: [`${dashboard}/api/v1/auth/oidc/${id}/callback`],
        },
      ],
      jwks: { keys: [{ ...key, use: "sig", alg: "RS256" }] } as Configuration["jwks"],
      cookies: { keys: ["only-for-tests"] },
      ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
      claims: { openid: ["sub"], email: ["email", "email_verified"] },
      conformIdTokenClaims: !isEmailInToken,
      pkce: { required: () => true },
      findAccount: (_context, accountId) => {
        const account = this.accounts.get(accountId);
        return account && { accountId, claims: () => ({ sub: accountId, ...account }) };
      },
    };
    const provider = new Provider(issuer, configuration);
    provider.use(async (context, next) => {
      await next();
      this.#record(context as KoaContextWithOIDC);
    });
    const { port } = new URL(issuer);
    const server = provider.listen(Number(port), "127.0.0.1");
    this.#server = server;
    await new Promise((resolve, reject) => server.once("listening", resolve).once("error", reject));
  }

  async close(): Promise<void> {
    const server = this.#server;
    server?.closeAllConnections();
    if (server) await new Promise((resolve) => server.close(resolve));
  }

  #record(context: KoaContextWithOIDC): void {
    const parameters = Object.entries(context.oidc?.params ?? {}).filter(([, value]) => value !== undefined);
    this.received.push({
      endpoint: context.path,
      parameters: Object.fromEntries(parameters.map(([name, value]) => [name, String(value)])),
      cookie: context.get("cookie"),
    });
  }
}
