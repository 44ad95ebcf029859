// LonghaulEngine
