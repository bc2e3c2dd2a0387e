# Runs the tests of a module and prints a line for each: COMPAT outcome test.
import sys
import unittest
from test import support

support.use_resources = ["subprocess", "cpu", "walltime"]


class Result(unittest.TextTestResult):
    def tell(self, word, test):
        sys.stdout.write("\nCOMPAT %s %s\n" % (word, test.id().split(" ")[0]))
        sys.stdout.flush()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.tell("ok", test)

    def addError(self, test, err):
        super().addError(test, err)
        self.tell("failed", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.tell("failed", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.tell("skipped", test)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.tell("ok", test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.tell("failed", test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.tell("failed", test)


suite = unittest.defaultTestLoader.loadTestsFromName(sys.argv[1])
unittest.TextTestRunner(stream=sys.stderr, resultclass=Result, verbosity=2).run(suite)
