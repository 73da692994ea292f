export { type CsvRow, csvRows, eachCsvRow } from './read-csv.ts'
export { type CsvCell, csvText } from './write-csv.ts'
