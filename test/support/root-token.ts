/** The root token of the tests, on both sides: in the Worker's bindings and in the requests. */
export const ROOT_TOKEN = 'root-token-of-the-tests-0123456789abcdef';
