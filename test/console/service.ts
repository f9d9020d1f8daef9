/** The service of a test: it responds by method and path, and remembers what was sent. */

export interface Sent {
  method: string;
  path: string;
  query: Record<string, string>;
  ifMatch: string | null;
  body: unknown;
}

type Responder = (sent: Sent) => Response | Promise<Response>;

let responders: Readonly<Record<string, Responder>> = {};
let requests: Sent[] = [];

/** Sets the responses, such as `GET /licenses/7`. All else is 404. @returns the requests from now on */
export function serve(next: Readonly<Record<string, Responder>>): readonly Sent[] {
  responders = next;
  requests = [];
  return requests;
}

export const json = (body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { headers });

export const failure = (status: number, message = 'No'): Response =>
  new Response(JSON.stringify({ message, accepted_intents: [] }), { status });

/** The `fetch` of the console. */
export async function respond(request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const path = pathname.replace('/api/v2', '');
  const text = await request.text();
  const sent: Sent = {
    method: request.method,
    path,
    query: Object.fromEntries(searchParams),
    ifMatch: request.headers.get('If-Match'),
    body: text === '' ? undefined : JSON.parse(text),
  };
  requests.push(sent);
  return responders[`${sent.method} ${path}`]?.(sent) ?? failure(404, 'Not found');
}
