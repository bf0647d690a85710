declare module 'cli-table3/src/utils.js' {
  const utils: {
    /** Columns that a text takes on a terminal: wide characters two, combining marks none. */
    strlen(text: string): number;
  };
  export default utils;
}
