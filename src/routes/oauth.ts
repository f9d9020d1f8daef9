import { MCP_PATH } from '@licet/contract/assistants';
import {
  ASSISTANT_INTENTS,
  CONSENT_PATH,
  CONSENT_REQUEST_PATH,
  type ConsentGiven,
  type ConsentRequest,
  coveredIntents,
  DEFAULT_GRANT_DAYS,
  MAX_GRANT_DAYS,
} from '@licet/contract/consent';
import { DAY_MS } from '@licet/contract/durations';
import { API_INTENTS } from '@licet/contract/enums';
import { parseJson } from '@licet/contract/json';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import * as z from 'zod';
import {
  ACCESS_LIFE_MS,
  type IssuedTokens,
  insertGrant,
  readGrantSecret,
  redeemGrantCode,
  refreshGrant,
} from '../auth/grants.ts';
import {
  type AuthEnv,
  acceptGrants,
  addressIn,
  countRejection,
  isRejectedUnread,
  requireToken,
  senderIn,
} from '../auth/middleware.ts';
import {
  findClient,
  isOwnRedirect,
  type OAuthClient,
  receiverOf,
  registerClient,
} from '../auth/oauth-clients.ts';
import { NOT_ALLOWED, rootHashOf } from '../auth/tokens.ts';
import type { Sender } from '../db/change.ts';
import { SERVICE } from '../db/events.ts';
import { readBodyText } from '../http/connection.ts';
import { ApiError, TOO_MANY_REJECTED } from '../http/errors.ts';
import { jsonResponse } from '../http/json.ts';
import { blameOf, describeError, parseFields } from '../lib/issues.ts';
import { ownHostsOf, publicUrlOf } from '../lib/public-url.ts';
import { senderOf, servicesOf } from '../services.ts';

/**
 * OAuth 2.1 for assistants in a browser (12.7). The authorization endpoint is a page of the console; here are the requests
 * of that page, the token endpoint, registration and discovery.
 */

const TOKEN_PATH = '/oauth/token';
const REGISTRATION_PATH = '/oauth/register';
const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';
const MAX_BODY_BYTES = 16 * 1024;
const MAX_QUERY_LENGTH = 6_000;
const MAX_STATE_LENGTH = 2_000;
const METADATA_MAX_AGE_SECONDS = 300;
const CHALLENGE = /^[\w-]{43}$/;
const VERIFIER = /^[\w.~-]{43,128}$/;

const OFFERED = [...ASSISTANT_INTENTS.read, ...ASSISTANT_INTENTS.write];

type AnyContext = Context<AuthEnv>;

const originOf = (c: AnyContext): string => publicUrlOf(c.env, c.req.url).origin;
const secretOf = (c: AnyContext): string => c.env.ROOT_TOKEN ?? '';

const metadataResponse = (c: AnyContext, metadata: object): Response =>
  jsonResponse(c, metadata, 200, {
    'Cache-Control': `public, max-age=${METADATA_MAX_AGE_SECONDS}`,
  });

const describeResource = (c: AnyContext): Response =>
  metadataResponse(c, {
    resource: `${originOf(c)}${MCP_PATH}`,
    authorization_servers: [originOf(c)],
    scopes_supported: OFFERED,
    bearer_methods_supported: ['header'],
    resource_name: 'Licet',
  });

function describeServer(c: AnyContext): Response {
  const origin = originOf(c);
  return metadataResponse(c, {
    issuer: origin,
    authorization_endpoint: `${origin}${CONSENT_PATH}`,
    token_endpoint: `${origin}${TOKEN_PATH}`,
    registration_endpoint: `${origin}${REGISTRATION_PATH}`,
    scopes_supported: OFFERED,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });
}

/** The parameters of a request, of which none may come twice. Undefined where one does. */
function readParameters(text: string): ReadonlyMap<string, string> | undefined {
  const sent = [...new URLSearchParams(text)];
  const parameters = new Map(sent);
  return parameters.size === sent.length ? parameters : undefined;
}

/** Whether a request names this service's resource, or none: there is no other. */
const isOwnResource = (c: AnyContext, resource: string | undefined): boolean =>
  resource === undefined || URL.parse(resource)?.href === `${originOf(c)}${MCP_PATH}`;

/** A request for consent whose client and address of return are right. */
interface Authorization {
  client: OAuthClient;
  redirectUri: string;
  codeChallenge: string;
  /** The address to which the person returns, with the parameters of the response. */
  returnWith(parameters: Readonly<Record<string, string>>): string;
}

/**
 * Reads a request for consent. A fault is shown and not sent to the client: a page that returns by itself would lead people
 * anywhere (RFC 9700).
 *
 * @throws ApiError for a request that nobody may consent to
 */
async function readAuthorization(c: AnyContext, query: string): Promise<Authorization> {
  const bad = (message: string): ApiError => new ApiError(400, message);
  // The document of a client is fetched from anywhere: not for the token in a shipped program, which can consent to nothing.
  if (coveredIntents(OFFERED, c.get('actor').intents).length === 0) throw NOT_ALLOWED;
  if (await countRejection(c, CONSENT_REQUEST_PATH)) throw TOO_MANY_REJECTED;
  const parameters = query.length > MAX_QUERY_LENGTH ? undefined : readParameters(query);
  if (!parameters) throw bad('The link of the assistant has a parameter twice, or is too long');
  const read = (name: string): string => parameters.get(name) ?? '';
  const redirectUri = read('redirect_uri');
  const state = parameters.get('state');
  const { outbound } = servicesOf(c.env);
  const ownHosts = ownHostsOf(c.env, c.req.url);
  const client = await findClient(read('client_id'), outbound, ownHosts, secretOf(c));
  if (!isOwnRedirect(client, redirectUri)) {
    throw bad(
      'redirect_uri is not an address that the assistant has registered. Do not go on: somebody may have changed the link',
    );
  }
  if (read('response_type') !== 'code') throw bad('response_type must be code');
  const codeChallenge = read('code_challenge');
  if (read('code_challenge_method') !== 'S256' || !CHALLENGE.test(codeChallenge)) {
    throw bad('The assistant must use PKCE: code_challenge with code_challenge_method=S256');
  }
  if (!isOwnResource(c, parameters.get('resource'))) {
    throw bad(`resource must be ${originOf(c)}${MCP_PATH}: enter this address in the assistant`);
  }
  if (state !== undefined && state.length > MAX_STATE_LENGTH) throw bad('state is too long');
  return {
    client,
    redirectUri,
    codeChallenge,
    returnWith(response) {
      const url = new URL(redirectUri);
      const all = { ...response, ...(state !== undefined && { state }), iss: originOf(c) };
      for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
      return url.href;
    },
  };
}

async function describeConsent(c: AnyContext): Promise<Response> {
  const { search } = new URL(c.req.url);
  const { client, redirectUri, returnWith } = await readAuthorization(c, search);
  const { host, isLocal } = receiverOf(redirectUri);
  const shown: ConsentRequest = {
    name: client.name || (client.host ?? host),
    host: client.host,
    returnsTo: host,
    isLocal,
    declineUrl: returnWith({ error: 'access_denied' }),
  };
  return jsonResponse(c, shown);
}

const consent = z.object({
  query: z.string(),
  intents: z.array(z.enum(OFFERED)).min(1, 'must have at least one permission'),
  days: z.int().min(1).max(MAX_GRANT_DAYS).default(DEFAULT_GRANT_DAYS),
});

async function giveConsent(c: AnyContext): Promise<Response> {
  const body = parseJson(await readBodyText(c.req.raw, MAX_BODY_BYTES));
  const sent = parseFields(consent, body);
  if (sent.error) throw new ApiError(400, describeError(sent.error), blameOf(sent.error));
  const { query, days, intents } = sent.data;
  const { tokenId, intents: held } = c.get('actor');
  const granted = coveredIntents(intents, held);
  if (granted.length < new Set(intents).size) {
    throw new ApiError(403, 'An assistant cannot get more permissions than your own token has');
  }
  const { client, redirectUri, codeChallenge, returnWith } = await readAuthorization(c, query);
  c.set('intents', API_INTENTS);
  const { host } = receiverOf(redirectUri);
  const sender = senderIn(c);
  const code = await insertGrant(sender, {
    name: client.name || (client.host ?? host),
    intents: granted,
    expiresAt: sender.now + days * DAY_MS,
    client: client.host ?? host,
    clientId: client.id,
    redirectUri,
    codeChallenge,
    consenter:
      tokenId === null ? { rootHash: (await rootHashOf(c.env.ROOT_TOKEN)) ?? '' } : { tokenId },
  });
  const given: ConsentGiven = { url: returnWith({ code }) };
  return jsonResponse(c, given);
}

/** An error of OAuth, which counts as a rejection (1.7). */
async function reject(c: AnyContext, error: string, description: string): Promise<Response> {
  await countRejection(c, TOKEN_PATH);
  return jsonResponse(c, { error, error_description: description }, 400);
}

const tokenResponse = (c: AnyContext, { access, refresh, intents }: IssuedTokens): Response =>
  jsonResponse(c, {
    access_token: access,
    token_type: 'Bearer',
    expires_in: ACCESS_LIFE_MS / 1000,
    refresh_token: refresh,
    scope: intents.join(' '),
  });

const newSender = (c: AnyContext): Sender =>
  senderOf(servicesOf(c.env), { ...SERVICE, ip: addressIn(c) }, c.get('timings').waitUntil);

async function issueTokens(c: AnyContext): Promise<Response> {
  if (isRejectedUnread(c, TOKEN_PATH)) throw TOO_MANY_REJECTED;
  const parameters = readParameters(await readBodyText(c.req.raw, MAX_BODY_BYTES));
  if (!parameters) return reject(c, 'invalid_request', 'No parameter may come twice');
  const read = (name: string): string => parameters.get(name) ?? '';
  const grantType = read('grant_type');
  if (grantType !== 'authorization_code' && grantType !== 'refresh_token') {
    return reject(
      c,
      'unsupported_grant_type',
      'grant_type must be authorization_code or refresh_token',
    );
  }
  if (!isOwnResource(c, parameters.get('resource'))) {
    return reject(c, 'invalid_target', `resource must be ${originOf(c)}${MCP_PATH}`);
  }
  const clientId = read('client_id');
  const rootHash = await rootHashOf(c.env.ROOT_TOKEN);
  let issued: IssuedTokens | undefined;
  if (grantType === 'authorization_code') {
    const verifier = read('code_verifier');
    if (!VERIFIER.test(verifier)) {
      return reject(c, 'invalid_request', 'code_verifier must have 43 to 128 characters');
    }
    const code = await readGrantSecret('code', read('code'));
    const proof = { clientId, verifier, redirectUri: parameters.get('redirect_uri') };
    issued = code && (await redeemGrantCode(newSender(c), code, proof, rootHash));
  } else {
    const refresh = await readGrantSecret('refresh', read('refresh_token'));
    issued = refresh && (await refreshGrant(newSender(c), refresh, clientId, rootHash));
  }
  return issued
    ? tokenResponse(c, issued)
    : reject(
        c,
        'invalid_grant',
        'The code or the refresh token is unknown, used, expired, revoked, or of another client',
      );
}

async function register(c: AnyContext): Promise<Response> {
  if (await countRejection(c, REGISTRATION_PATH)) throw TOO_MANY_REJECTED;
  const body = parseJson(await readBodyText(c.req.raw, MAX_BODY_BYTES));
  const registered = await registerClient(body, secretOf(c));
  if ('fault' in registered) {
    const { fault } = registered;
    const isUri = fault === 'redirect_uris';
    const error = isUri ? 'invalid_redirect_uri' : 'invalid_client_metadata';
    const error_description = isUri
      ? 'redirect_uris must be 1 to 10 addresses: https, http to this computer, or of a program'
      : `${fault} is not valid`;
    return jsonResponse(c, { error, error_description }, 400);
  }
  const { id, metadata } = registered;
  return jsonResponse(
    c,
    {
      client_id: id,
      client_id_issued_at: Math.floor(Date.now() / 1000),
      ...metadata,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    201,
  );
}

/** Tells a client without a token where to get one (RFC 9728). */
const offerOAuth: MiddlewareHandler<AuthEnv> = async function offerOAuth(c, next) {
  await next();
  if (c.res.status !== 401) return;
  const metadata = `resource_metadata="${originOf(c)}${RESOURCE_METADATA_PATH}${MCP_PATH}"`;
  const error = c.req.header('Authorization') ? ', error="invalid_token"' : '';
  c.header('WWW-Authenticate', `Bearer ${metadata}${error}`);
};

/** The paths have no CORS: a page of another site may not reach /mcp either. */
export const oauthRoutes = new Hono<AuthEnv>()
  .use(MCP_PATH, offerOAuth, acceptGrants())
  .get(RESOURCE_METADATA_PATH, describeResource)
  .get(`${RESOURCE_METADATA_PATH}${MCP_PATH}`, describeResource)
  .get('/.well-known/oauth-authorization-server', describeServer)
  .post(TOKEN_PATH, issueTokens)
  .post(REGISTRATION_PATH, register)
  .get(CONSENT_REQUEST_PATH, requireToken(), describeConsent)
  .post(CONSENT_REQUEST_PATH, requireToken(), giveConsent);
