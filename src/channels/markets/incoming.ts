import { type Json, parseObject } from './json.ts';

/** Fields of a form; BuiltByBit sends 15. */
const MAX_FIELDS = 64;

/** A request from a market, as it arrived. It is read once, for all markets at its address, and only when one asks. */
export class Incoming {
  readonly bytes: Uint8Array;
  readonly headers: Headers;
  /** Milliseconds since 1970. */
  readonly now: number;
  #text: string | undefined;
  #json: { value: Json | undefined } | undefined;
  #fields: Promise<Json | undefined> | undefined;

  constructor(bytes: Uint8Array, headers: Headers, now: number) {
    this.bytes = bytes;
    this.headers = headers;
    this.now = now;
  }

  /** The bytes as text. */
  get text(): string {
    this.#text ??= new TextDecoder().decode(this.bytes);
    return this.#text;
  }

  /** The body as an object; undefined if it is none. */
  get json(): Json | undefined {
    this.#json ??= { value: parseObject(this.text) };
    return this.#json.value;
  }

  /** The fields of a form of any type, or of a JSON object; undefined for neither. */
  fields(): Promise<Json | undefined> {
    this.#fields ??= this.#readFields();
    return this.#fields;
  }

  async #readFields(): Promise<Json | undefined> {
    const type = this.headers.get('Content-Type') ?? '';
    if (/^\s*multipart\/form-data/i.test(type)) return this.#readMultipart(type);
    const isForm = /^\s*application\/x-www-form-urlencoded/i.test(type);
    if (!isForm && this.json) return this.json;
    const isShort = this.text.split('&').length <= MAX_FIELDS;
    if (!isShort || !(isForm || this.text.includes('='))) return undefined;
    return Object.fromEntries(new URLSearchParams(this.text));
  }

  async #readMultipart(type: string): Promise<Json | undefined> {
    // A line is before each part, the first one at the beginning of the body, and one behind the last part.
    if (this.text.split('\n--').length > MAX_FIELDS + 1) return undefined;
    try {
      const form = await new Response(this.bytes, { headers: { 'Content-Type': type } }).formData();
      return Object.fromEntries(form);
    } catch {
      return undefined;
    }
  }
}
