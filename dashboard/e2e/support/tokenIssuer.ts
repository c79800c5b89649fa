// A real OpenID provider as the issuer of a CI system's tokens. Each job gets a signed token with the claims that the
// test states, by the flow for clients without a person.
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { type Configuration, Provider } from "oidc-provider";

const CLIENT = { client_id: "ci", client_secret: "a-secret-of-the-tests" };

export class TokenIssuer {
  readonly issuer: string;
  readonly #port: number;
  #claims: Record<string, string | number> = {};
  #server: Server | undefined;

  private constructor(port: number) {
    this.#port = port;
    this.issuer = `http://localhost:${port}`;
  }

  static async start(): Promise<TokenIssuer> {
    const free = createServer().listen(0, "127.0.0.1");
    await once(free, "listening");
    const { port } = free.address() as AddressInfo;
    free.close();
    await once(free, "close");
    const issuer = new TokenIssuer(port);
    await issuer.#listen();
    return issuer;
  }

  async #listen(): Promise<void> {
    const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
    const configuration: Configuration = {
      clients: [{ ...CLIENT, grant_types: ["client_credentials"], redirect_uris: [], response_types: [] }],
      jwks: { keys: [{ ...key, use: "sig", alg: "RS256" }] } as Configuration["jwks"],
      cookies: { keys: ["only-for-tests"] },
      ttl: { ClientCredentials: 300 },
      extraTokenClaims: () => this.#claims,
      features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_context, audience) => ({
            scope: "",
            audience,
            accessTokenTTL: 300,
            accessTokenFormat: "jwt",
            jwt: { sign: { alg: "RS256" } },
          }),
        },
      },
    };
    const server = new Provider(this.issuer, configuration).listen(this.#port, "127.0.0.1");
    this.#server = server;
    await once(server, "listening");
  }

  /** A token of a job with these claims. */
  async token(audience: string, claims: Record<string, string | number>): Promise<string> {
    this.#claims = claims;
    const credentials = Buffer.from(`${CLIENT.client_id}:${CLIENT.client_secret}`).toString("base64");
    const response = await fetch(`${this.issuer}/token`, {
      method: "POST",
      headers: { Authorization: `Basic ${credentials}` },
      body: new URLSearchParams({ grant_type: "client_credentials", resource: audience }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`the issuer returned ${response.status}: ${text}`);
    return (JSON.parse(text) as { access_token: string }).access_token;
  }

  async close(): Promise<void> {
    const server = this.#server;
    server?.closeAllConnections();
    if (server) await new Promise((resolve) => server.close(resolve));
  }
}
