/**
 * The kinds of errors of the domain, which `routes/error-response.ts` maps to statuses. An `overtaken` change met an
 * object that another request has changed since it was read.
 */
export type ErrorKind =
  | 'invalid'
  | 'missing'
  | 'not live'
  | 'not allowed'
  | 'conflict'
  | 'overtaken';

/** An error of the domain. The message is for the client and contains no secrets [7]. */
export class DomainError extends Error {
  readonly kind: ErrorKind;
  /** The field to blame, if it is one. */
  readonly field: string | undefined;

  constructor(kind: ErrorKind, message: string, field?: string) {
    super(message);
    this.kind = kind;
    this.field = field;
  }
}
