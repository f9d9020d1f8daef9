import { readRootToken } from '@licet/cli/root-token';
import { type ApiIntent, type License, Licet } from '@licet/client';
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { SUBJECTS } from '../../scripts/console/documents.ts';
import { runHere } from '../cli/run-command.ts';
import { fieldsOf } from '../support/mcp-fields.ts';
import { sharedService } from './shared-service.ts';
import { newLicense, recordsOf } from './shop.ts';

/** Assistants with the client of the SDK, over HTTP, against the service as `npm start` runs it [decision 12]. */

let url: string;
let licet: Licet;

beforeAll(async () => {
  url = await sharedService();
  licet = new Licet({ url, token: readRootToken() });
});

const newToken = async (...intents: ApiIntent[]): Promise<string> =>
  (await licet.tokens.create({ name: `Assistant ${intents}`, intents })).token;

interface Session {
  client: Client;
  /** The questions that the person got. */
  questions: string[];
  call: (
    name: string,
    input?: object,
  ) => Promise<CallToolResult & { fields: Record<string, unknown> }>;
}

const ERAS = ['2026-07-28', '2025-11-25'] as const;
type Era = (typeof ERAS)[number];

/** A client of a version, whose person answers each question alike. */
async function connect(
  token: string,
  era: Era,
  action: 'accept' | 'decline' = 'accept',
): Promise<Session> {
  const questions: string[] = [];
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: era === '2026-07-28' ? { pin: era } : 'legacy' },
    },
  );
  client.setRequestHandler('elicitation/create', ({ params }) => {
    questions.push(params.message);
    return action === 'accept' ? { action, content: {} } : { action };
  });
  const headers = { Authorization: `Bearer ${token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } }),
  );
  return {
    client,
    questions,
    call: async (name, input = {}) => {
      const result = await client.callTool({ name, arguments: { ...input } });
      return { ...result, fields: fieldsOf(result.structuredContent) };
    },
  };
}

/** A license of one slot, and a machine that was refused. */
async function refusedLicense(email: string): Promise<License> {
  const license = await newLicense(licet, { maxIPs: 1, customerEmail: email });
  const ask = (ip: string) =>
    licet.validate({ licenseKey: license.licenseKey, productId: license.productId, ip });
  await ask('198.51.100.1');
  const refused = await ask('198.51.100.2');
  expect(refused.valid).toBe(false);
  await recordsOf(licet, license.licenseKey, 2);
  return license;
}

describe.each(ERAS)('a client of %s', (era) => {
  it('answers "Why was Ada refused, and free her slot" with three calls and one question [12.2.1, 12.3.1, 12.4.1]', async () => {
    const email = `ada-${era}@example.com`;
    const { id } = await refusedLicense(email);
    const token = await newToken('LICENSES_READ_WRITE', 'REQUESTS_READ');
    const { client, call, questions } = await connect(token, era);
    expect(client.getNegotiatedProtocolVersion()).toBe(era);

    const found = await call('find', { text: email });
    expect(found.fields.licenses).toMatchObject([{ id, owner: { email } }]);
    const explained = await call('explain_refusals', { licenseId: id });
    expect(explained.fields).toMatchObject({
      reasons: [
        {
          outcome: 'MAX_IPS_REACHED',
          reason: 'No free address slot',
          isStillRefused: true,
          addresses: ['198.51.100.2'],
          fixes: [
            { fix: 'freeSlot', tool: 'free_slots' },
            { fix: 'raiseLimit', tool: null },
          ],
        },
      ],
      slots: [{ type: 'IP', value: '198.51.100.1' }],
    });
    const input = { licenseId: id, etag: explained.fields.etag, ips: ['198.51.100.1'] };
    const freed = await call('free_slots', input);
    if (era === '2026-07-28') {
      expect(questions).toEqual([expect.stringContaining(`1 address of license ${id}`)]);
      expect(freed.fields).toMatchObject({ isDone: true, slots: [] });
    } else {
      // A client of this version cannot be asked without a session: the person sees the preview.
      expect(freed.fields).toMatchObject({ isDone: false, change: { frees: { ips: input.ips } } });
      expect((await licet.licenses.get(id)).ips).toEqual(input.ips);
      const { confirmation } = freed.fields;
      expect((await call('free_slots', { ...input, confirmation })).fields.isDone).toBe(true);
    }
    expect((await licet.licenses.get(id)).ips).toEqual([]);
    const [event] = await licet.events.list({ resourceType: 'license', resourceId: id, limit: 1 });
    expect(event).toMatchObject({
      type: 'license.slots_freed',
      actor: { isMcp: true },
      ip: '127.0.0.1',
    });
    const shown = ['events', '--resource', 'license', '--id', String(id)];
    const { stdout } = await runHere('licet', shown, { LICET_URL: url });
    expect(stdout).toMatch(/license\.slots_freed .*127\.0\.0\.1 \(mcp\)/);
    await client.close();
  });

  it('gets twelve tools, each with all four annotations [12.2.2]', async () => {
    const { client } = await connect(await newToken('ALL_READ_WRITE'), era);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'find',
      'explain_refusals',
      'show_license',
      'list_licenses',
      'statistics',
      'search_docs',
      'free_slots',
      'extend',
      'set_status',
      'create_license',
      'block',
      'portal_link',
    ]);
    for (const { annotations = {} } of tools) {
      expect(Object.keys(annotations).toSorted()).toEqual([
        'destructiveHint',
        'idempotentHint',
        'openWorldHint',
        'readOnlyHint',
      ]);
    }
    await client.close();
  });
});

it('a person who does not agree changes nothing [12.3.1]', async () => {
  const { id } = await newLicense(licet);
  const { call, questions } = await connect(
    await newToken('LICENSES_READ_WRITE'),
    '2026-07-28',
    'decline',
  );
  const { etag } = (await call('show_license', { licenseId: id })).fields;
  const { fields } = await call('set_status', { licenseId: id, etag, status: 'DEACTIVATED' });
  expect([questions.length, fields.isDone]).toEqual([1, false]);
  expect((await licet.licenses.get(id)).licenseStatus).toBe('ACTIVE');
});

it('the guides are found by their headings and texts [12.6.2]', async () => {
  const { call } = await connect(await newToken('PRODUCTS_READ'), '2026-07-28');
  const { fields } = await call('search_docs', { text: 'offline lease' });
  expect(fields.sections).toContainEqual(
    expect.objectContaining({
      address: expect.stringMatching(/^http:\/\/localhost:\d+\/docs\/signing#/),
    }),
  );
});

it('the guides are listed for agents, and served as Markdown, public and cached [12.6.1]', async () => {
  const get = async (path: string) => {
    const response = await fetch(`${url}${path}`);
    expect(response.status, path).toBe(200);
    expect(response.headers.get('Cache-Control'), path).toBe(
      'public, max-age=300, must-revalidate',
    );
    return response.text();
  };
  const list = await get('/llms.txt');
  expect(list).toMatch(/^# Licet\n\n> .+\n/);
  const all = await get('/llms-full.txt');
  const guides = [...list.matchAll(/^- \[.+\]\((\/docs\/[\w-]+\.md)\): .+\.$/gm)];
  expect(guides).toHaveLength(Object.values(SUBJECTS).flat().length);
  for (const [, path = ''] of guides) {
    const [first, , ...text] = (await get(path)).split('\n');
    expect(first, path).toBe('All guides: [/llms.txt](/llms.txt)');
    expect(all).toContain(`Source: ${path}\n\n${text.join('\n')}`);
    const links = [...text.join('\n').matchAll(/\]\((\/[^)#]*)/g)].map(([, link = '']) => link);
    for (const link of new Set(links.filter((one) => one.endsWith('.md')))) {
      expect(list, `${path} leads to ${link}`).toContain(`(${link})`);
    }
  }
});
