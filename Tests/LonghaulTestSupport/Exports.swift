// Values and fixtures of tests, which the tests of decisions use without any server.
@_exported public import LonghaulTestValues
