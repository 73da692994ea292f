/** Every word about saved views. */
export const views = {
  menu: 'Views',
  menuOf: (name: string) => `Views, shown is ${name}`,
  none: 'No view of this list is saved yet.',
  notLoaded: 'Views did not load. Try again',
  save: 'Save these filters…',
  manage: 'Rename or delete…',

  saveTitle: 'Save these filters',
  saveLead: 'Only you see the view, in this account. It keeps the filters, not the page you are on.',
  name: 'Name',
  nameWrong: 'Write a name of 1 to 40 characters',
  saveConfirm: 'Save view',
  saved: (name: string) => `View “${name}” saved`,

  manageTitle: 'Views of this list',
  rename: 'Rename',
  renameThis: (name: string) => `Rename ${name}`,
  saveName: 'Save name',
  renamed: (name: string) => `The view is called “${name}” now`,
  delete: 'Delete',
  deleteThis: (name: string) => `Delete ${name}`,
  deleted: (name: string) => `View “${name}” deleted`,
  notDeleted: 'The view was not deleted',
  done: 'Done',
} as const
