import { Hono } from 'hono';

/** The least that a Worker with Hono costs: it parses the JSON of a request and responds with JSON. */
export default new Hono().on('POST', ['/api/v1/validate', '/api/v2/validate'], async (c) => {
  const body = await c.req.json<{ licenseKey: string }>();
  return c.json({ valid: true, message: body.licenseKey });
});
