import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { newIsolate } from '../support/app.ts';

it('the settings of mails can be read, changed and seen', async () => {
  const isolate = newIsolate({
    ...env,
    MAIL: 'resend:re_1',
    MAIL_FROM: 'Shop <keys@shop.example>',
  });
  const first = await isolate.call('GET', '/api/v2/settings/mail');
  expect(first.status, first.text).toBe(200);
  const put = await isolate.call('PUT', '/api/v2/settings/mail', { body: { kinds: ['key'] } });
  expect(put.status, put.text).toBe(200);
  const list = await isolate.call('GET', '/api/v2/mails?limit=5');
  expect(list.status, list.text).toBe(200);
  const preview = await isolate.call('POST', '/api/v2/settings/mail/preview', {
    body: { kind: 'key', language: 'de' },
  });
  expect(preview.status, preview.text).toBe(200);
  const test = await isolate.call('POST', '/api/v2/mails/test', { body: { to: 'a@b.example' } });
  expect(test.status, test.text).toBe(200);
  console.log(put.text, test.text);
});
