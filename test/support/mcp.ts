import type { ApiIntent } from '@licet/contract/enums';
import { call, create, type ReadResponse } from './client.ts';
import { type Fields, fieldsOf, isFields } from './mcp-fields.ts';

/** Messages of assistants, as clients of both versions send them. */

export const MODERN = '2026-07-28';
export const LEGACY = '2025-11-25';

export interface McpOptions {
  token?: string | null;
  version?: string;
  /** Whether the client can ask a person. */
  canAsk?: boolean;
  /** Those of the client, in the place of `canAsk`. */
  capabilities?: object;
  headers?: Record<string, string>;
  /** Another isolate than the one of all tests. */
  ask?: typeof call;
  /** Further parameters of the message. */
  params?: object;
}

/** The result of a call of a tool. */
export interface ToolResult {
  fields: Fields;
  isError: boolean;
  /** That of a question. */
  resultType: unknown;
  requestState: unknown;
  inputRequests: unknown;
}

/** Sends a message. */
export function send(
  method: string,
  {
    token,
    version = MODERN,
    canAsk = false,
    capabilities,
    headers = {},
    params = {},
    ask = call,
  }: McpOptions = {},
): Promise<ReadResponse> {
  const isModern = version !== LEGACY;
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities':
      capabilities ?? (canAsk ? { elicitation: { form: {} } } : {}),
  };
  const name = fieldsOf(params).name;
  return ask('POST', '/mcp', {
    ...(token !== undefined && { token }),
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': version,
      ...(isModern && { 'Mcp-Method': method }),
      ...(isModern && typeof name === 'string' && { 'Mcp-Name': name }),
      ...headers,
    },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method,
      params: { ...params, ...(isModern && { _meta: meta }) },
    },
  });
}

/** The message in a response: the older version sends it as an event. */
export function messageIn({ text }: ReadResponse): Fields {
  const [, data = text] = /^data: (.*)$/m.exec(text) ?? [];
  return fieldsOf(JSON.parse(data));
}

/** Calls a tool. */
export async function callTool(
  name: string,
  input: object = {},
  options: McpOptions = {},
): Promise<ToolResult> {
  const params = { name, arguments: input, ...options.params };
  const response = await send('tools/call', { ...options, params });
  const { result, error } = messageIn(response);
  if (!isFields(result)) {
    throw new Error(
      `${name} returned ${response.status} ${JSON.stringify(error ?? response.text)}`,
    );
  }
  return {
    fields: fieldsOf(result.structuredContent),
    isError: result.isError === true,
    resultType: result.resultType,
    requestState: result.requestState,
    inputRequests: result.inputRequests,
  };
}

/** The names of the tools that a token may use. */
export async function listTools(token: string): Promise<string[]> {
  const { result } = messageIn(await send('tools/list', { token }));
  const { tools } = fieldsOf(result);
  return Array.isArray(tools) ? tools.map(({ name }) => name) : [];
}

export const tokenWith = async (...intents: ApiIntent[]): Promise<string> =>
  (await create.token(intents)).token;
