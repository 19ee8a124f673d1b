/** Sessions made by this page: their size is that of the window they were made in. */
export const createdHere = new Set<string>();
