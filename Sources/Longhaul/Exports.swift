@_exported public import LonghaulCore
