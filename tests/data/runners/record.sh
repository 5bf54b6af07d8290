#!/bin/sh
# Records what real tools print: sh record.sh OUT. Takes the tools from PATH (README.md names the versions) and
# from NODE_MODULES (a folder with jest, vitest, mocha, typescript, eslint and its formatters). What is not there
# is left out. Paths of the machine are scrubbed.
set -u
mkdir -p "$1"
OUT=$(cd "$1" && pwd)
TOP=$(mktemp -d)
trap 'rm -rf "$TOP"' EXIT
export LC_ALL=C.UTF-8 CARGO_TARGET_DIR="$TOP/target" GOCACHE="$TOP/gocache" GOFLAGS=-mod=mod RUST_BACKTRACE=0
unset CI FORCE_COLOR NO_COLOR PYTEST_ADDOPTS 2>/dev/null

project() { # project NAME: an empty folder, entered
  mkdir -p "$TOP/$1" && cd "$TOP/$1" || exit 1
}
keep() { # keep NAME COMMAND…: both streams of the command as NAME.txt
  name=$1
  shift
  command -v "$1" >/dev/null 2>&1 || { echo "no $1: $name is not recorded" >&2; return; }
  "$@" >"$OUT/$name.txt" 2>&1
  echo "$name: exit $?"
  scrub "$OUT/$name.txt"
}
scrub() {
  here=$(pwd -P)
  sed -i -e "s|$here|/home/dev/project|g" -e "s|$TOP/target|/home/dev/target|g" -e "s|$TOP|/home/dev|g" \
    -e "s|${GOROOT_HERE:-/nowhere}|/usr/lib/go|g" -e "s|${NODE_MODULES:-/nowhere}|/home/dev/project/node_modules|g" \
    -e "s|${RUST_HERE:-/nowhere}|/usr/lib/rust|g" -e "s|${PYTHON_HERE:-/nowhere}|/usr/lib/python3.11|g" \
    -e "s|${SITE_HERE:-/nowhere}|/home/dev/project/.venv/lib/python3.11/site-packages|g" \
    -e "s|$(command -v python)|/home/dev/project/.venv/bin/python|g" -e "s|/tmp/cc[A-Za-z0-9]*|/tmp/ccAAAAAA|g" \
    -e "s|(\.\./[^ ]*node_modules/|(node_modules/|g" \
    -e "s|hostname=\"[^\"]*\"|hostname=\"host\"|g" "$1"
}
command -v go >/dev/null && GOROOT_HERE=$(go env GOROOT)
command -v rustc >/dev/null && RUST_HERE=$(rustc --print sysroot)
PYTHON_HERE=$(python -c 'import os; print(os.path.dirname(os.__file__))')
SITE_HERE=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
bin() { echo "${NODE_MODULES:-/nowhere}/.bin/$1"; }

# ---- Python ------------------------------------------------------------------------------------------------
project pytest
cat >test_a.py <<'PY'
import pytest

def test_ok(): pass
def test_bad():
    x = {"a": 1}
    assert x == {"a": 2}, "differs"
@pytest.mark.parametrize("v", ["a b", "x[1]"])
def test_par(v): assert v == "a b"
@pytest.mark.skip(reason="no")
def test_skip(): pass
@pytest.mark.xfail
def test_x(): assert 0
@pytest.mark.xfail
def test_xp(): pass
@pytest.fixture
def boom(): raise RuntimeError("boom")
def test_err(boom): pass
class TestK:
    def test_in(self): assert [1,2] == [1,3]
PY
P="-p no:cacheprovider"
keep pytest_q python -m pytest -q $P test_a.py
keep pytest_plain python -m pytest $P test_a.py
keep pytest_v python -m pytest -v -rA $P test_a.py
keep pytest_qq python -m pytest -qq $P test_a.py
keep pytest_color python -m pytest --color=yes $P test_a.py
CI=true keep pytest_ci python -m pytest $P test_a.py
keep pytest_short python -m pytest -q --tb=short $P test_a.py
keep pytest_line python -m pytest -q --tb=line $P test_a.py
keep pytest_maxfail python -m pytest -q -x $P test_a.py
keep pytest_xdist python -m pytest -q -n 2 $P test_a.py
keep pytest_junit python -m pytest -q $P --junitxml=junit.xml test_a.py
cp junit.xml "$OUT/junit_pytest.xml" && scrub "$OUT/junit_pytest.xml"
echo 'import nope_nope' >test_c.py
keep pytest_collect python -m pytest -q $P test_c.py
printf 'def test_one(): pass\n' >test_p.py
keep pytest_pass python -m pytest -q $P test_p.py
keep pytest_none python -m pytest $P -k nothing test_p.py
printf 'import os, signal\ndef test_one(): pass\ndef test_stop(): os.kill(os.getpid(), signal.SIGINT)\n' >test_i.py
keep pytest_interrupted python -m pytest -q $P test_i.py
sed -i 's/assert x == .*/x["a"] = 2/' test_a.py
printf 'def test_late(): raise KeyError("late")\n' >>test_a.py
keep pytest_after python -m pytest -q $P test_a.py

project unittest
cat >unit_b.py <<'PY'
import unittest
class T(unittest.TestCase):
    def test_ok(self): pass
    def test_bad(self): self.assertEqual(1, 2)
    def test_err(self): raise ValueError("x")
    @unittest.skip("no")
    def test_skip(self): pass
    @unittest.expectedFailure
    def test_xf(self): self.assertEqual(1, 2)
PY
printf 'import unittest\nclass T(unittest.TestCase):\n    def test_ok(self): pass\n' >unit_p.py
printf 'import unittest\n' >unit_n.py
printf 'import nope_nope\n' >test_broken.py
keep unittest python -m unittest unit_b
keep unittest_v python -m unittest -v unit_b
keep unittest_pass python -m unittest unit_p
keep unittest_none python -m unittest unit_n
keep unittest_collect python -m unittest test_broken

project lint
mkdir -p pkg
cat >pkg/a.py <<'PY'
import os
import sys


def f(x: int) -> str:
    return x


def g( a,b ):
    y = undefined_name
    return f("no")


class K:
    def m(self) -> int:
        return "s"
PY
cat >pkg/b.py <<'PY'
from pkg.a import f, nothing

f(None, 2)
l = lambda: 0
PY
touch pkg/__init__.py
printf 'def broken(:\n' >pkg_broken.py
keep mypy mypy --cache-dir=/dev/null pkg
keep mypy_pretty mypy --cache-dir=/dev/null --pretty pkg
keep mypy_ok mypy --cache-dir=/dev/null pkg/__init__.py
keep ruff_full ruff check --no-cache --output-format=full pkg
keep ruff_concise ruff check --no-cache --output-format=concise pkg pkg_broken.py
keep ruff_grouped ruff check --no-cache --output-format=grouped pkg
keep ruff_ok ruff check --no-cache pkg/__init__.py
keep flake8 flake8 --select=E,F,W pkg
keep pylint pylint --score=y pkg

# ---- Go ----------------------------------------------------------------------------------------------------
project go
mkdir -p calc empty broken quiet
printf 'module example.com/x\n\ngo 1.21\n' >go.mod
printf 'package calc\n\nfunc Add(a, b int) int { return a + b }\n' >calc/calc.go
cat >calc/calc_test.go <<'GO'
package calc

import "testing"

func TestAdd(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Fatal("no")
	}
}

func TestSub(t *testing.T) {
	if got := Add(1, 2); got != 4 {
		t.Errorf("got %d, want 4", got)
	}
}

func TestTable(t *testing.T) {
	t.Run("empty name", func(t *testing.T) {})
	t.Run("bad", func(t *testing.T) { t.Error("table: bad") })
}

func TestNet(t *testing.T) { t.Skip("no network") }
GO
printf 'package empty\n' >empty/empty.go
printf 'package quiet\n' >quiet/quiet.go
printf 'package quiet\n\nimport "testing"\n\nfunc TestQuiet(t *testing.T) {}\n' >quiet/quiet_test.go
printf 'package broken\n\nimport "os"\n\nfunc F() int { return undefined }\n\nfunc G() string { return 1 }\n' >broken/broken.go
printf 'package broken\n\nimport "testing"\n\nfunc TestF(t *testing.T) { F() }\n' >broken/broken_test.go
keep go_test go test ./...
keep go_test_v go test -v ./calc ./quiet
keep go_test_pass go test ./quiet
keep go_test_cached go test ./quiet
keep go_test_none go test ./empty
keep go_test_run_none go test -run Nothing ./quiet
keep go_build go build ./...
mkdir -p vetted panics
printf 'package vetted\n\nimport "fmt"\n\nfunc F() {\n\tfmt.Printf("%%d\\n", "x")\n\tvar a int\n\ta = a\n}\n' >vetted/v.go
keep go_vet go vet ./vetted
printf 'package panics\n\nimport "testing"\n\nfunc TestFine(t *testing.T) {}\n\nfunc TestPanic(t *testing.T) {\n\tvar m map[string]int\n\tm["a"] = 1\n}\n' >panics/p_test.go
keep go_test_panic go test ./panics
printf 'package panics\n\nimport (\n\t"testing"\n\t"time"\n)\n\nfunc TestSlow(t *testing.T) { time.Sleep(10 * time.Second) }\n' >panics/p_test.go
keep go_test_timeout go test -timeout 1s ./panics

# ---- Rust --------------------------------------------------------------------------------------------------
project cr
mkdir -p src tests
printf '[package]\nname = "cr"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
cat >src/lib.rs <<'RS'
/// ```
/// assert_eq!(cr::f(), 1);
/// ```
pub fn f() -> i32 { 1 }
#[cfg(test)]
mod t {
    #[test] fn ok() {}
    #[test] fn bad() { assert_eq!(super::f(), 2); }
    #[test] #[ignore] fn ig() {}
}
RS
printf '#[test] fn it() {}\n' >tests/i.rs
keep cargo_test cargo test --offline --no-fail-fast
CARGO_TERM_COLOR=always keep cargo_color cargo test --offline --no-fail-fast
keep cargo_none cargo test --offline --lib nothing
RUST_BACKTRACE=1 keep cargo_backtrace cargo test --offline --lib
sed -i 's/super::f(), 2/super::f(), 1/' src/lib.rs
keep cargo_pass cargo test --offline
cat >src/lib.rs <<'RS'
use std::collections::HashMap;
pub fn f() -> i32 { "one" }
pub fn g(x: i32) -> i32 { let unused = 1; h(x) }
RS
keep cargo_check cargo check --offline
keep cargo_check_short cargo check --offline --message-format short
printf 'fn main() {\n    let x: i32 = "a";\n}\n' >one.rs
keep rustc rustc one.rs

# ---- JavaScript --------------------------------------------------------------------------------------------
[ -n "${NODE_MODULES:-}" ] && {
project js
ln -s "$NODE_MODULES" node_modules
echo '{"private": true, "name": "js"}' >package.json
cat >n.test.mjs <<'JS'
import test from 'node:test'; import assert from 'node:assert';
test('adds', () => { assert.equal(1 + 1, 2); });
test('breaks', () => { assert.equal(1, 2); });
test('skipped', { skip: true }, () => {});
test('group', async (t) => { await t.test('inner bad', () => { throw new Error('boom'); }); });
JS
echo "import test from 'node:test'; test('adds', () => {});" >p.test.mjs
keep node_spec node --test --test-reporter=spec n.test.mjs
keep node_tap node --test --test-reporter=tap n.test.mjs
FORCE_COLOR=1 keep node_color node --test --test-reporter=spec n.test.mjs
keep node_pass node --test --test-reporter=spec p.test.mjs
keep node_junit node --test --test-reporter=junit n.test.mjs
mv "$OUT/node_junit.txt" "$OUT/junit_node.xml"
cat >a.test.js <<'JS'
test('adds', () => { expect(1+1).toBe(2); });
describe('grp', () => { test('breaks', () => { expect(1).toBe(2); }); test.skip('skipped', () => {}); test.todo('later'); });
JS
echo "test('fine', () => {});" >p.test.js
echo "const x = ; test('never', () => {});" >s.test.js
keep jest "$(bin jest)" a.test.js
keep jest_color "$(bin jest)" --color a.test.js
CI=true keep jest_ci "$(bin jest)" --ci --verbose a.test.js p.test.js
keep jest_pass "$(bin jest)" p.test.js
keep jest_broken "$(bin jest)" s.test.js p.test.js
keep jest_none "$(bin jest)" --passWithNoTests nothing.test.js
JEST_JUNIT_OUTPUT_NAME=junit.xml keep jest_junit "$(bin jest)" a.test.js --reporters="$NODE_MODULES/jest-junit"
cp junit.xml "$OUT/junit_jest.xml" && scrub "$OUT/junit_jest.xml" && rm "$OUT/jest_junit.txt"
cat >b.spec.mjs <<'JS'
import {test, expect, describe} from 'vitest';
test('adds', () => { expect(1+1).toBe(2); });
describe('grp', () => { test('breaks', () => { expect(1).toBe(2); }); test.skip('skipped', () => {}); test.todo('later'); });
JS
printf "import {test} from 'vitest';\ntest('fine', () => {});\n" >p.spec.mjs
printf "import {test} from 'vitest';\nimport './not-there.mjs';\ntest('never', () => {});\n" >s.spec.mjs
keep vitest "$(bin vitest)" run b.spec.mjs
FORCE_COLOR=1 keep vitest_color "$(bin vitest)" run b.spec.mjs
CI=true keep vitest_ci "$(bin vitest)" run b.spec.mjs p.spec.mjs
keep vitest_pass "$(bin vitest)" run p.spec.mjs
keep vitest_broken "$(bin vitest)" run s.spec.mjs p.spec.mjs
keep vitest_none "$(bin vitest)" run nothing.spec.mjs
keep vitest_junit "$(bin vitest)" run --reporter=junit b.spec.mjs
mv "$OUT/vitest_junit.txt" "$OUT/junit_vitest.xml"
cat >m.cjs <<'JS'
const assert = require('assert');
it('adds', () => {});
describe('grp', () => { it('breaks', () => { assert.equal(1, 2); }); it.skip('skipped', () => {}); it('later'); });
JS
echo "it('fine', () => {});" >mp.cjs
keep mocha "$(bin mocha)" m.cjs
keep mocha_dot "$(bin mocha)" --reporter dot m.cjs
keep mocha_color "$(bin mocha)" --color m.cjs
keep mocha_pass "$(bin mocha)" mp.cjs
cat >t.cjs <<'JS'
const test = require('tape');
test('adds', (t) => { t.equal(1 + 1, 2); t.end(); });
test('is wrong', (t) => { t.equal(1, 2, 'one is two'); t.ok(true); t.end(); });
test('later', { skip: true }, (t) => { t.end(); });
test('a todo', { todo: true }, (t) => { t.equal(3, 4); t.end(); });
JS
head -2 t.cjs >tp.cjs
keep tape "$(bin tape)" t.cjs
keep tape_pass "$(bin tape)" tp.cjs

project ts
ln -s "$NODE_MODULES" node_modules
mkdir -p src
printf 'export const a: number = "x";\nexport function f(n: number): string {\n  return n;\n}\n' >src/a.ts
printf 'import { f, missing } from "./a";\nf("s", 1);\nlet unused = undefinedName;\n' >src/b.ts
echo '{"compilerOptions": {"strict": true, "noEmit": true, "module": "esnext", "moduleResolution": "bundler", "target": "es2022", "types": []}, "include": ["src"]}' >tsconfig.json
keep tsc "$(bin tsc)"
keep tsc_pretty "$(bin tsc)" --pretty
printf 'var a = 1;\nlet b = undefinedThing\nif (b == a) {}\n' >src/a.js
printf 'const c = 3;\nfor (;;) { break }\nc = 4\n' >src/b.js
cat >eslint.config.mjs <<'JS'
import js from "@eslint/js";
export default [js.configs.recommended, { rules: { "no-var": "warn", eqeqeq: "error" } }];
JS
keep eslint_stylish "$(bin eslint)" src/a.js src/b.js
keep eslint_color "$(bin eslint)" --color src/a.js src/b.js
keep eslint_unix "$(bin eslint)" --format unix src/a.js src/b.js
printf 'const c = 3;\nexport default c;\n' >src/c.js
keep eslint_ok "$(bin eslint)" src/c.js
}

# ---- C and Java --------------------------------------------------------------------------------------------
project c
printf '#include <stdio.h>\n\nint f(int a) {\n  int unused;\n  return b;\n}\n' >a.c
printf '#include "nothere.h"\n' >b.c
printf 'int f(int);\nint main(void) { char *p = f(1); return g(p); }\n' >c.c
keep gcc gcc -Wall -c a.c b.c c.c
keep gcc_color gcc -Wall -fdiagnostics-color=always -c a.c
printf 'int f(int);\nint main(void) { return f(1); }\n' >d.c
keep gcc_link gcc d.c
keep clang clang -Wall -c a.c c.c
printf 'class A {\n  int f() { return "x"; }\n  void g() { undefined(); }\n}\n' >A.java
keep javac javac A.java
