// LonghaulCore
