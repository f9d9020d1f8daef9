/** A Worker that keeps the files in memory: miniflare's own takes a millisecond for each request. */

interface Env {
  FILES: { fetch(url: string, init: RequestInit): Promise<Response> };
}

interface StoredFile {
  body: ArrayBuffer;
  headers: Headers;
}

const files = new Map<string, StoredFile>();

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname } = new URL(request.url);
    let file = files.get(pathname);
    if (!file) {
      const response = await env.FILES.fetch(request.url, { redirect: 'manual' });
      // A file that was there at the start and is gone, as after a new build of the console.
      if (response.status === 500) return new Response(null, { status: 404 });
      // Only files are kept: clients cannot fill the memory.
      if (response.status !== 200) return response;
      file = { body: await response.arrayBuffer(), headers: response.headers };
      files.set(pathname, file);
    }
    const { body, headers } = file;
    // A proxy that compresses the file makes its ETag a weak one.
    const known = request.headers.get('If-None-Match')?.replace(/^W\//, '');
    const isKnown = known !== undefined && known === headers.get('ETag');
    return isKnown ? new Response(null, { status: 304, headers }) : new Response(body, { headers });
  },
};
