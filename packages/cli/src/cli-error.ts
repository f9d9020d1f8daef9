/** The exit status of every usage error. */
export const USAGE_ERROR_STATUS = 2;

/** An error with a message for the user and an exit status. */
export class CliError extends Error {
  readonly status: number;

  constructor(message: string, status = 1) {
    super(message);
    this.status = status;
  }
}

/** An error in the arguments or the environment of a command. */
export const usageError = (message: string): CliError => new CliError(message, USAGE_ERROR_STATUS);
